import CNGHTTP2

extension HeaderList {
    /// Calls `body` with nghttp2's form of the list, in an array that is reused. nghttp2 copies names and values.
    func withFields<Result>(
        _ scratch: inout [nghttp2_nv], _ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result
    ) -> Result {
        unsafe scratch.removeAll(keepingCapacity: true)
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            if let base = unsafe UnsafeMutablePointer(mutating: buffer.baseAddress) {
                for field in fields {
                    let flags = field.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                    unsafe scratch.append(
                        nghttp2_nv(
                            name: base + Int(field.name.start), value: base + Int(field.value.start),
                            namelen: Int(field.name.count), valuelen: Int(field.value.count),
                            flags: UInt8(flags.rawValue)))
                }
            }
            return unsafe scratch.withUnsafeBufferPointer { unsafe body($0) }
        }
    }
}
