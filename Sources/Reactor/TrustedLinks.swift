import CShims
import Glibc

/// Opens files at paths whose last part another user may replace.
///
/// A user who may write in a folder can put a symbolic link there. If a command of root's followed it, that command would
/// read or truncate a file that this user can't reach. So a link at the end of a path is followed only if it belongs to
/// root or to this process's user. Links before the last part are followed, because the caller chose the path.
package enum TrustedLinks {
    private enum Link {
        /// There is no link: a file, a folder, or nothing.
        case none
        case trusted(target: String)
        /// The link belongs to another user, or can't be read.
        case foreign
    }

    /// A chain of a user's own links is short.
    private static let linksMax = 8
    /// Linux has no longer path.
    private static let pathBytesMax = 4_096

    /// Opens a file as open(2) does, and closes it in child programs. Returns -1 and errno on failure: ELOOP for a link
    /// that is not followed.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) -> Int32 {
        guard let path = resolve(path) else {
            errno = ELOOP
            return -1
        }
        // A link that replaces the file at this moment is not followed either.
        return unsafe Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC, mode)
    }

    /// Opens a folder to open files in it, which needs no permission to list them. Returns -1 and errno on failure: ELOOP
    /// for a link that is not followed.
    static func openFolder(_ path: String) -> Int32 {
        guard let path = resolve(path) else {
            errno = ELOOP
            return -1
        }
        return unsafe shim_open_place(path)
    }

    /// The owner of the folder; nil: there is none, or only a link that is not followed.
    package static func owner(ofFolder path: String) -> uid_t? {
        let folder = openFolder(path)
        guard folder >= 0 else { return nil }
        defer { close(folder) }
        var status = stat()
        guard unsafe fstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        return status.st_uid
    }

    /// Returns the file's bytes, so many at most; nil: it can't be read, or only a link that is not followed leads to it.
    package static func contents(of path: String, bytesMax: Int) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return bytes(of: file, atMost: bytesMax)
    }

    /// nil: the file can't be read.
    static func bytes(of file: Int32, atMost bytesMax: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(bytesMax, 65_536))
        while bytes.count < bytesMax {
            let wanted = min(chunk.count, bytesMax - bytes.count)
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress, wanted) }
            guard count >= 0 else { return nil }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Returns the path behind the links at its end; nil: one of them is not followed, or there are too many.
    private static func resolve(_ path: String) -> String? {
        var path = withoutSlashes(path)
        for _ in 0..<linksMax {
            switch link(at: path) {
            case .none: return path
            case .trusted(let target): path = withoutSlashes(target)
            case .foreign: return nil
            }
        }
        return nil
    }

    /// A slash at the end would make the kernel follow the link.
    private static func withoutSlashes(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// Owner and target are those of one link, even if another one replaces it meanwhile: a link can't be changed.
    private static func link(at path: String) -> Link {
        let place = unsafe shim_open_place(path)
        guard place >= 0 else { return .none }
        defer { close(place) }
        var status = stat()
        guard unsafe fstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return .none }
        guard [0, geteuid()].contains(status.st_uid), let target = readTarget(of: place) else { return .foreign }
        guard !target.hasPrefix("/") else { return .trusted(target: target) }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        return .trusted(target: folder + target)
    }

    private static func readTarget(of link: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: pathBytesMax)
        let count = unsafe bytes.withUnsafeMutableBytes { bytes in
            guard let base = bytes.baseAddress else { return -1 }
            return unsafe readlinkat(link, "", base.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard count > 0, count < pathBytesMax else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
