import Glibc

/// Reads small files that hold secrets, in folders where others may write.
package enum SecretFile {
    package enum Fault: Error, Equatable, Sendable {
        case absent
        /// The path names a symbolic link. Its target may be a file that only this process may read.
        case link
        /// The folder is a symbolic link of another user. It may lead to a folder that only this process may read.
        case linkedFolder
        /// The folder belongs neither to root, nor to this process's user, nor to the user that the caller trusts.
        case foreignFolder
        /// A folder, a device or a pipe.
        case notAFile
        /// The file belongs neither to root, nor to this process's user, nor to its folder's owner.
        case foreign
        case unreadable
    }

    /// Longer files are no keys.
    private static let bytesMax = 4_096

    /// Returns the file's bytes, `bytesMax` at most. Owner and kind are those of the file that is read and of the folder
    /// that holds it, even if files are renamed meanwhile.
    ///
    /// - Parameter trusted: another user whose folder the file may be in.
    package static func read(_ path: String, trusting trusted: uid_t? = nil) throws(Fault) -> [UInt8] {
        let (folderPath, name) = split(path)
        let folder = TrustedLinks.openFolder(folderPath)
        guard folder >= 0 else { throw fault(ofLink: .linkedFolder) }
        defer { close(folder) }
        var status = stat()
        guard unsafe fstat(folder, &status) == 0 else { throw .unreadable }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .absent }
        let (own, owner) = ([0, geteuid()], status.st_uid)
        guard own.contains(owner) || owner == trusted else { throw .foreignFolder }

        let file = unsafe openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw fault(ofLink: .link) }
        defer { close(file) }
        guard unsafe fstat(file, &status) == 0 else { throw .unreadable }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        // In another user's folder, root's file may be a second name of one that this user can't read.
        let isOwn = own.contains(status.st_uid) && (own.contains(owner) || status.st_nlink == 1)
        guard isOwn || status.st_uid == owner else { throw .foreign }
        guard let bytes = TrustedLinks.bytes(of: file, atMost: bytesMax) else { throw .unreadable }
        return bytes
    }

    /// The fault for errno.
    private static func fault(ofLink link: Fault) -> Fault {
        switch errno {
        case ENOENT, ENOTDIR: .absent
        case ELOOP: link
        default: .unreadable
        }
    }

    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        return (String(path[...slash]), String(path[path.index(after: slash)...]))
    }
}
