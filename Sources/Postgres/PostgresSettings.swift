import CPostgres
import Reactor

/// The address of a PostgreSQL server and our login there.
///
/// Holds a password. Its description names only host, database and user.
package struct PostgresSettings: Sendable {
    struct Keyword: Sendable {
        let name: String
        var value: String
    }

    /// The given libpq keywords, each once, none empty.
    private(set) var keywords: [Keyword]

    /// The server's side of the deadline, per session, so that a statement ends soon after its caller gave up.
    package var statementTimeout: Duration = .seconds(30)
    /// Makes a transaction whose owner stalls release its locks.
    package var idleInTransactionTimeout: Duration = .seconds(30)
    /// The time for one attempt: names, TCP, TLS and authentication together.
    package var connectTimeout: Duration = .seconds(5)

    /// - Parameter text: a postgres:// URL, or libpq's keywords ("host=... dbname=..."). Missing parts come from
    ///   libpq's defaults and the PG... environment variables.
    package init(parsing text: String, applicationName: String = "carillon") throws(PostgresError) {
        var complaint: UnsafeMutablePointer<CChar>?
        let options = unsafe PQconninfoParse(text, &complaint)
        // libpq's message quotes the text, which may contain a password: discard it unread.
        if let complaint = unsafe complaint { unsafe PQfreemem(complaint) }
        guard let options = unsafe options else {
            throw .settingsInvalid("neither a postgres:// URL nor a list of libpq keywords")
        }
        unsafe keywords = Self.given(options)
        takeAddressFromEnvironment()
        try finish(applicationName)
    }

    /// Describes a private server on a Unix socket. From here on no variable of libpq's has an effect on this process.
    package init(socketFolder: String, user: String, database: String, applicationName: String = "carillon") {
        LibpqEnvironment.clear()
        keywords = [
            // The port is part of the socket's name.
            Keyword(name: "host", value: socketFolder), Keyword(name: "port", value: "5432"),
            Keyword(name: "user", value: user), Keyword(name: "dbname", value: database),
            Keyword(name: "application_name", value: applicationName),
        ]
    }

    package func withDatabase(_ name: String) -> PostgresSettings {
        var changed = self
        changed.set("dbname", name)
        return changed
    }

    /// The URL without its password, to show to people.
    package var urlWithoutPassword: String {
        let user = value("user").map { $0 + "@" } ?? ""
        guard hosts.allSatisfy({ !$0.hasPrefix("/") }) else {
            return "postgresql://\(user)/\(database)?host=\(hosts.joined(separator: ","))"
        }
        return "postgresql://\(user)\(place)"
    }

    /// Hosts, ports and the database's name, for the log: "db.example:5432/carillon".
    package var place: String {
        let ports = list("port")
        let places = hosts.enumerated().map { place, host in
            let port = ports.count == 1 ? ports[0] : place < ports.count ? ports[place] : ""
            return port.isEmpty || host.hasPrefix("/") ? String(host) : "\(host):\(port)"
        }
        return "\(places.joined(separator: ","))/\(database)"
    }

    private var hosts: [Substring] { list("host").isEmpty ? list("hostaddr") : list("host") }

    /// The database's name. libpq also accepts a whole connection string here, which may contain a password.
    private var database: String { value("dbname").flatMap { $0.contains("=") || $0.contains(":") ? nil : $0 } ?? "" }

    /// The role and the database, also where the address leaves them to libpq's defaults.
    package var login: (role: String, database: String) {
        let defaults = unsafe PQconndefaults().map { unsafe Self.given($0) } ?? []
        func usual(_ name: String) -> String? { defaults.first { $0.name == name }?.value }
        let role = value("user") ?? usual("user") ?? ""
        return (role, database.isEmpty ? usual("dbname") ?? role : database)
    }

    func value(_ name: String) -> String? { keywords.first { $0.name == name }?.value }
}

extension PostgresSettings {
    private mutating func set(_ name: String, _ value: String) {
        keywords.removeAll { $0.name == name }
        keywords.append(Keyword(name: name, value: value))
    }

    private mutating func takeAddressFromEnvironment() {
        guard let defaults = unsafe PQconndefaults() else { return }
        let names = ["host", "hostaddr", "port"]
        keywords += unsafe Self.given(defaults).filter { names.contains($0.name) && value($0.name) == nil }
    }

    private mutating func finish(_ applicationName: String) throws(PostgresError) {
        if value("application_name") == nil { set("application_name", applicationName) }
        for port in (value("port") ?? "").split(separator: ",") where UInt16(port) == nil || UInt16(port) == 0 {
            throw .settingsInvalid("port is not a number from 1 to 65535")
        }
        // Else the rest of the password would be shown as a part of the host. A socket of the abstract kind begins with it.
        guard !list("host").contains(where: { $0.dropFirst().contains("@") }) else {
            throw .settingsInvalid("the host has an @; write an @ of the password as %40")
        }
        let hosts = list("host").count
        for name in ["hostaddr", "port"] where list(name).count > 1 && hosts > 0 && list(name).count != hosts {
            throw .settingsInvalid("host and \(name) are lists of different lengths")
        }
    }

    private func list(_ name: String) -> [Substring] {
        guard let value = value(name) else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false)
    }

    private static func given(_ options: UnsafeMutablePointer<PQconninfoOption>) -> [Keyword] {
        defer { unsafe PQconninfoFree(options) }
        var keywords: [Keyword] = []
        var option = unsafe options
        while let name = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val, unsafe value.pointee != 0 {
                unsafe keywords.append(Keyword(name: String(cString: name), value: String(cString: value)))
            }
            unsafe option += 1
        }
        return keywords
    }
}

// Resolve names here, so that libpq never asks a resolver on the loop's thread.
extension PostgresSettings {
    /// The addresses tried per host name. Further ones would exceed the connect timeout anyway.
    static let addressesPerHostMax = 8

    /// The keywords with a `hostaddr` for each host name. A host with several addresses appears several times.
    func resolved() async throws(PostgresError) -> [Keyword] {
        let hosts = list("host").map(String.init)
        guard value("hostaddr") == nil, hosts.contains(where: Self.wantsResolver) else { return hardened(keywords) }
        let ports = list("port").map(String.init)
        var expanded: [(host: String, address: String, port: String)] = []
        for (index, host) in hosts.enumerated() {
            let port = ports.isEmpty ? "" : ports[ports.count == 1 ? 0 : index]
            for address in await Self.addresses(of: host) { expanded.append((host, address, port)) }
        }
        guard !expanded.isEmpty else { throw .unavailable(.nameUnknown) }
        var copy = self
        copy.set("host", expanded.map(\.host).joined(separator: ","))
        copy.set("hostaddr", expanded.map(\.address).joined(separator: ","))
        if !ports.isEmpty { copy.set("port", expanded.map(\.port).joined(separator: ",")) }
        return hardened(copy.keywords)
    }

    /// A folder or an abstract socket needs no resolver.
    private static func wantsResolver(_ host: String) -> Bool {
        !host.isEmpty && !host.hasPrefix("/") && !host.hasPrefix("@")
    }

    /// Returns an empty list for an unknown name, because another host of the list may work.
    private static func addresses(of host: String) async -> [String] {
        guard wantsResolver(host) else { return [""] }
        guard let addresses = try? await NameResolver.resolve(host: host, port: 0) else { return [] }
        return addresses.prefix(addressesPerHostMax).map(\.hostText)
    }

    /// Adds our defaults for keywords that the settings leave open.
    private func hardened(_ keywords: [Keyword]) -> [Keyword] {
        var keywords = keywords
        let settings = [
            ("client_encoding", "UTF8"),
            // Kerberos would look for tickets on disk and network, blocking the loop.
            ("gssencmode", "disable"),
            // Detects within 25 s a peer that vanished silently, whether we send or not.
            ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "25000"),
        ]
        for (name, value) in settings where !keywords.contains(where: { $0.name == name }) {
            keywords.append(Keyword(name: name, value: value))
        }
        return keywords
    }
}

extension PostgresSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let host = value("host") ?? value("hostaddr") ?? "local socket"
        return "PostgreSQL at \(host), database \(value("dbname") ?? "(default)"), user \(value("user") ?? "(default)")"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
