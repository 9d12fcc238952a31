import Glibc
import Reactor

/// Files and folders through system calls. A failure names the path and the reason.
enum Files {
    static func failure(_ path: String) -> PrivateServerError {
        let reason = unsafe strerror(errno).map { unsafe String(cString: $0) }
        return .folderUnusable(path: path, reason: reason ?? "error \(errno)")
    }

    /// Opens a file, and follows no link of another user: root would create or truncate the file behind it.
    static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(PrivateServerError) -> Int32 {
        let descriptor = TrustedLinks.open(path, flags, mode: mode)
        guard descriptor < 0 else { return descriptor }
        guard errno == ELOOP else { throw failure(path) }
        throw .folderUnusable(
            path: path, reason: "is a symbolic link of another user, and is not followed: remove the link")
    }

    /// The status of the file that a link leads to.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? status : nil
    }

    static func statusOfLink(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    /// Makes the folder and every folder above it. Existing ones stay unchanged.
    static func makeFolders(_ path: String, mode: mode_t) throws(PrivateServerError) {
        var partial = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            partial += "/" + part
            if unsafe mkdir(partial, mode) != 0 && errno != EEXIST { throw failure(partial) }
        }
        guard let status = status(path), status.st_mode & S_IFMT == S_IFDIR else { throw failure(path) }
    }

    /// The absolute path without links.
    static func realPath(_ path: String) throws(PrivateServerError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw failure(path) }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    static func linkTarget(_ path: String) -> String? {
        let buffer = unsafe [UInt8](unsafeUninitializedCapacity: 4_096) { bytes, count in
            let room = unsafe UnsafeMutableRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
            count = unsafe room.map { unsafe max(0, readlink(path, $0, bytes.count)) } ?? 0
        }
        return buffer.isEmpty ? nil : String(decoding: buffer, as: UTF8.self)
    }

    static func read(_ path: String) -> [UInt8]? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while content.count < bytesReadMax {
            let count = unsafe Glibc.read(descriptor, &chunk, chunk.count)
            if count <= 0 { break }
            content.append(contentsOf: chunk[..<count])
        }
        return content
    }

    private static let bytesReadMax = 1 << 24

    static func readText(_ path: String) -> String? { read(path).map { String(decoding: $0, as: UTF8.self) } }

    /// Writes the whole file or nothing: writes a draft beside it, syncs it and renames it.
    static func write(_ text: String, to path: String, mode: mode_t, owner: ServerAccount) throws(PrivateServerError) {
        let draft = path + ".new"
        let descriptor = try open(draft, O_WRONLY | O_CREAT | O_TRUNC, mode: mode)
        defer { close(descriptor) }
        try append(text, to: descriptor, draft)
        try owner.own(draft)
        guard fsync(descriptor) == 0, unsafe rename(draft, path) == 0 else { throw failure(path) }
    }

    private static func append(_ text: String, to descriptor: Int32, _ path: String) throws(PrivateServerError) {
        var remaining = Array(text.utf8)[...]
        while !remaining.isEmpty {
            let count = unsafe remaining.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw failure(path) }
            remaining = remaining.dropFirst(count)
        }
    }

    static func names(in folder: String) -> [String] {
        guard let stream = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Removes the path with everything in it. Links are removed, not followed.
    static func removeTree(_ path: String) throws(PrivateServerError) {
        guard let status = statusOfLink(path) else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in names(in: path) { try removeTree(path + "/" + name) }
            guard unsafe rmdir(path) == 0 else { throw failure(path) }
        } else {
            guard unsafe unlink(path) == 0 else { throw failure(path) }
        }
    }

    /// Syncs the folder: a rename survives a crash of the machine only after that.
    static func syncFolder(_ path: String) throws(PrivateServerError) {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(path) }
    }
}
