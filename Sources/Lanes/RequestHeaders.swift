import HTTP2
import ProviderInterface

/// The header fields of the request that leaves next. Fields shared by a batch are written once; only path and id
/// differ.
struct RequestHeaders {
    private(set) var fields = HeaderList()
    private var pathPlace = 0
    private var idPlace: Int?
    /// The batch that the template was written for.
    private var serial: UInt64 = 0
    private var authorization: UInt64?
    private let authority: [UInt8]

    /// Makes a placeholder value for a variable.
    init() { authority = [] }

    init(host: String, port: UInt16) {
        let name = host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[") ? "[\(host)]" : host
        // The scheme's own port is left out (RFC 9110, section 4.2.2).
        authority = Array((port == 443 ? name : "\(name):\(port)").utf8)
    }

    /// - Parameter serial: the batch's, from 1.
    mutating func prepare(_ batch: PushBatch, serial: UInt64, authorization: Authorization?) {
        if self.serial == serial && self.authorization == authorization?.generation { return }
        self.serial = serial
        self.authorization = authorization?.generation
        fields.removeAll()
        fields.append(":method", "POST")
        fields.append(":scheme", "https")
        fields.append(name: Array(":authority".utf8), value: authority)
        pathPlace = fields.append(":path", "", isIndexed: false)
        if let authorization { fields.append("authorization", authorization.value) }
        for field in batch.sharedFields {
            fields.append(name: field.name, value: field.value, isIndexed: field.isIndexed)
        }
        idPlace = batch.idHeader.isEmpty ? nil : fields.append(name: batch.idHeader, value: [], isIndexed: false)
        fields.markTemplate()
    }

    mutating func write(_ request: PushBatch.Request, of batch: PushBatch) {
        fields.rewind()
        fields.replaceValue(at: pathPlace) { $0.append(contentsOf: batch.bytes[request.path.range]) }
        guard let idPlace else { return }
        fields.replaceValue(at: idPlace) { $0.append(contentsOf: batch.bytes[request.id.range]) }
    }
}
