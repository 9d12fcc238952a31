import Glibc

struct ServerPrograms: Equatable, Sendable {
    let folder: String
    let version: Int

    var initdb: String { folder + "/initdb" }
    var postgres: String { folder + "/postgres" }

    static let versionMin = 15

    /// Finds the newest programs in the places of Debian and Red Hat, then in PATH.
    /// - Parameter version: the version that an existing folder needs; nil: any.
    static func find(version: Int?) throws(PrivateServerError) -> ServerPrograms {
        let found = candidates().filter { $0.version >= versionMin }
        guard !found.isEmpty else { throw .programsMissing }
        guard let version else { return found[0] }
        guard let match = found.first(where: { $0.version == version }) else { throw .versionMissing("\(version)") }
        return match
    }

    private static func candidates() -> [ServerPrograms] {
        let debian = Files.names(in: "/usr/lib/postgresql").compactMap { name in
            Int(name).map { ServerPrograms(folder: "/usr/lib/postgresql/\(name)/bin", version: $0) }
        }
        let redHat = Files.names(in: "/usr").compactMap { name in
            name.hasPrefix("pgsql-")
                ? Int(name.dropFirst(6)).map { ServerPrograms(folder: "/usr/\(name)/bin", version: $0) } : nil
        }
        let newestFirst = (debian + redHat).sorted { $0.version > $1.version }
        return (newestFirst + onPath()).filter { $0.isComplete }
    }

    private var isComplete: Bool { unsafe access(initdb, X_OK) == 0 && access(postgres, X_OK) == 0 }

    private static func onPath() -> [ServerPrograms] {
        let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
        return path.split(separator: ":").compactMap { folder in
            let program = String(folder) + "/postgres"
            guard folder.hasPrefix("/"), unsafe access(program, X_OK) == 0 else { return nil }
            return versionOf(program).map { ServerPrograms(folder: String(folder), version: $0) }
        }
    }

    /// Parses "postgres (PostgreSQL) 15.6 (Debian ...)" or "postgres (PostgreSQL) 17beta1".
    private static func versionOf(_ program: String) -> Int? {
        guard let text = ChildProcess.output([program, "--version"]),
            let text = text.split(separator: ")", maxSplits: 1).last
        else { return nil }
        return Int(text.drop { $0 == " " }.prefix { $0.isNumber })
    }
}
