import Encodings
import Foundation
import Reactor

/// Keys in files: the one that seals credentials, and the admin's.
package enum KeyFiles {
    static let masterKeyBytes = 32
    /// The permission of users who are neither the owner nor of the group.
    private static let othersMayRead: UInt16 = 0o004

    /// The files with secrets that these settings use.
    private static func secretFiles(_ settings: Settings) -> [String] {
        var files = [settings.masterKeyFile ?? settings.dataFolder + "/master-key"]
        if settings.adminKey == nil { files.append(settings.dataFolder + "/admin-key") }
        if let key = settings.tlsKeyFile { files.append(key) }
        return files
    }

    /// Returns the files with secrets that every user of this machine may read.
    static func exposed(_ settings: Settings) -> [String] { secretFiles(settings).filter(isReadableByAll) }

    /// False if there is no such file.
    package static func isReadableByAll(_ path: String) -> Bool {
        // A link's own permissions mean nothing.
        let file = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let permissions = (try? FileManager.default.attributesOfItem(atPath: file))?[.posixPermissions] as? NSNumber
        return (permissions?.uint16Value ?? 0) & othersMayRead != 0
    }

    /// Reads 32 raw bytes or 64 hexadecimal digits.
    static func masterKey(at path: String) throws(StartFault) -> [UInt8] {
        let contents = try bytes(of: path, "the master key \(path)")
        if contents.count == masterKeyBytes { return contents }
        let digits = contents.split(separator: UInt8(ascii: "\n")).first ?? []
        guard let key = Hexadecimal.decode(digits), key.count == masterKeyBytes else {
            throw StartFault("the master key \(path) must hold 32 bytes, raw or as 64 hexadecimal digits")
        }
        return key
    }

    /// The line in the file. If there is no file, it is made: 256 random bits in hexadecimal.
    static func secretLine(at path: String) throws(StartFault) -> String {
        if !FileManager.default.fileExists(atPath: path) {
            try create(path, line: Hexadecimal.text(Entropy.bytes(masterKeyBytes)))
        }
        let line = String(decoding: try bytes(of: path, path), as: UTF8.self).prefix { !$0.isNewline }
        guard line.utf8.count >= masterKeyBytes else { throw StartFault("\(path) holds no key") }
        return String(line)
    }

    /// - Parameter name: the subject of the complaint that the file can't be read.
    static func bytes(of path: String, _ name: String) throws(StartFault) -> [UInt8] {
        guard let contents = FileManager.default.contents(atPath: path) else {
            throw StartFault("\(name) can't be read")
        }
        return Array(contents)
    }

    /// Creates the file whole or not at all, readable by its owner only, and on the disk before anything is sealed with
    /// it. If two processes make the same file, the first wins; the second reads what it finds.
    private static func create(_ path: String, line: String) throws(StartFault) {
        let draft = "\(path).\(Entropy.uint64()).new"
        let files = FileManager.default
        defer { try? files.removeItem(atPath: draft) }
        do {
            let made = files.createFile(
                atPath: draft, contents: Data((line + "\n").utf8), attributes: [.posixPermissions: 0o600])
            guard made else { throw StartFault("\(path) can't be written") }
            try synchronize(draft)
            do {
                try files.linkItem(atPath: draft, toPath: path)
            } catch {
                guard files.fileExists(atPath: path) else { throw error }
            }
            try synchronize(URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false))
        } catch { throw StartFault("\(path) can't be written") }
    }

    private static func synchronize(_ path: String) throws {
        let handle = try FileHandle(forReadingFrom: URL(filePath: path))
        try handle.synchronize()
        try handle.close()
    }
}

/// The reason why the program does not start: one line that names the setting or file, without a secret in it.
package struct StartFault: Error, Equatable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}
