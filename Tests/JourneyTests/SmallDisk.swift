import Foundation
import TestSupport

/// A disk of some megabytes, kept in memory, that a test can fill.
struct SmallDisk {
    /// Room for a migrated database. Only the pages that are used take memory.
    private static let megabytes = 64
    private static let pageBytes = 4_096

    /// Whether this machine allows a mount. Found by trying.
    static let isPossible =
        (try? SmallDisk(owner: 0, FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)))?.remove()
        != nil
    static let whyNot = "this machine allows no mount (mount -t tmpfs)"

    let folder: URL
    private var filler: URL { folder.appending(path: "filler") }

    /// - Parameter owner: the user who may write there.
    static func within(owner: Int, _ folder: URL, _ body: (SmallDisk) async throws -> Void) async throws {
        let disk = try SmallDisk(owner: owner, folder)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(disk)) } catch { outcome = .failure(error) }
        disk.remove()
        try outcome.get()
    }

    private init(owner: Int, _ folder: URL) throws {
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let options = "size=\(Self.megabytes)m,mode=0700,uid=\(owner)"
        try Self.run("mount", "-t", "tmpfs", "-o", options, "tmpfs", folder.path(percentEncoded: false))
    }

    /// Leaves no page free.
    func fill() throws {
        try Data().write(to: filler)
        let file = try FileHandle(forWritingTo: filler)
        defer { try? file.close() }
        let page = Data(count: Self.pageBytes)
        while (try? file.write(contentsOf: page)) != nil {}
    }

    func free() throws { try FileManager.default.removeItem(at: filler) }

    /// Detaches it at once, even while a server still holds its files.
    private func remove() {
        try? Self.run("umount", "--lazy", folder.path(percentEncoded: false))
        try? FileManager.default.removeItem(at: folder)
    }

    private static func run(_ tool: String, _ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [tool] + arguments
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }
}
