import Glibc

/// Reads small files that hold secrets, in folders where others may write.
package enum SecretFile {
    package enum Fault: Error, Equatable, Sendable {
        case absent
        /// The path names a symbolic link. Its target may be a file that only this process may read.
        case link
        /// A folder, a device or a pipe.
        case notAFile
        /// The file belongs neither to root, nor to this process's user, nor to its folder's owner.
        case foreign
        case unreadable
    }

    /// Longer files are no keys.
    private static let bytesMax = 4_096

    /// Returns the file's bytes, `bytesMax` at most. Owner and kind are those of the file that is read, even if files are
    /// renamed meanwhile.
    package static func read(_ path: String) throws(Fault) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: throw .absent
            case ELOOP: throw .link
            default: throw .unreadable
            }
        }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw .unreadable }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        guard [0, geteuid(), owner(ofFolderOf: path)].contains(status.st_uid) else { throw .foreign }
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(file, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw .unreadable }
        return Array(bytes.prefix(count))
    }

    /// nil: there is no such folder.
    private static func owner(ofFolderOf path: String) -> uid_t? {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        var status = stat()
        return unsafe stat(folder, &status) == 0 ? status.st_uid : nil
    }
}
