import ArgumentParser
import Foundation
import NIOSSL

/// The gateway's address and the API key. A key is never an argument: everyone on the machine can read arguments.
struct GatewayOptions: ParsableArguments {
    @Option(
        help: .value(
            "url", "The gateway's URL (default: CARILLON_URL, then CARILLON_LISTEN, then http://127.0.0.1:8080)."))
    var url: String?
    @Option(
        help: .value(
            "path",
            "A file whose first line is the API key (default: CARILLON_KEY, then CARILLON_ADMIN_KEY, then "
                + "data/admin-key)."),
        completion: .file())
    var keyFile: String?
    @Option(
        help: .value("path", "A PEM file of further certificate authorities to trust (default: CARILLON_CA_FILE)."),
        completion: .file())
    var caFile: String?
    @Flag(help: "Prints the answer as one JSON document, for scripts.") var json = false

    func client() throws(CommandFault) -> GatewayClient {
        let hasData = FileManager.default.fileExists(atPath: "data/postgres")
        let caller = ProcessInfo.processInfo.environment
        let service = PackagedService()
        let environment = service.asking(for: caller, url: url, hasData: hasData)
        let isService = service.isAsked(by: caller, url: url, hasData: hasData)
        let place: GatewayPlace
        if let url {
            place = GatewayPlace(base: try GatewayAddress.base(url))
        } else {
            place = try GatewayPlace(environment: environment)
        }
        return GatewayClient(
            base: place.base,
            key: try GatewayKey.read(
                file: keyFile, environment: environment, service: isService ? service : nil, for: place.base),
            authorities: try authorities(environment) + place.authorities, hosts: place.hosts)
    }

    private func authorities(_ environment: [String: String]) throws(CommandFault) -> [NIOSSLCertificate] {
        guard let path = caFile ?? environment["CARILLON_CA_FILE"], !path.isEmpty else { return [] }
        let bytes = try contents(ofFile: path)
        guard let authorities = try? NIOSSLCertificate.fromPEMBytes(bytes), !authorities.isEmpty else {
            throw CommandFault(.usage, "\(path) holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
        }
        return authorities
    }
}

struct AppOptions: ParsableArguments {
    @OptionGroup(title: "Gateway") var gateway: GatewayOptions
    @Option(help: .value("slug", "The app's slug (default: CARILLON_APP).")) var app: String?

    func slug() throws(CommandFault) -> String {
        guard let slug = app ?? ProcessInfo.processInfo.environment["CARILLON_APP"], !slug.isEmpty else {
            throw CommandFault(.usage, "no app is given. Give it with --app or in CARILLON_APP")
        }
        return slug
    }

    func path(_ segments: String...) throws(CommandFault) -> String { try path(segments) }

    func path(_ segments: [String]) throws(CommandFault) -> String {
        "/v1/apps/" + ([try slug()] + segments).map(GatewayClient.escaped).joined(separator: "/")
    }
}

/// Opens a file to read; "-" is standard input.
func handle(ofFile path: String) throws(CommandFault) -> FileHandle {
    guard path != "-" else { return .standardInput }
    guard FileManager.default.fileExists(atPath: path) else { throw CommandFault(.usage, "there is no file \(path)") }
    let target = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
    let type = try? FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
    guard type != .typeDirectory else { throw CommandFault(.usage, "\(path) is a folder, not a file") }
    guard let handle = FileHandle(forReadingAtPath: path) else {
        throw CommandFault(.usage, "\(path) can't be read: this user lacks permission")
    }
    return handle
}

/// Reads a file's bytes; "-" is standard input.
package func contents(ofFile path: String) throws(CommandFault) -> [UInt8] {
    let handle = try handle(ofFile: path)
    do { return Array(try handle.readToEnd() ?? Data()) } catch {
        throw CommandFault(.usage, "\(path) can't be read")
    }
}

func filledContents(ofFile path: String) throws(CommandFault) -> [UInt8] {
    let bytes = try contents(ofFile: path)
    guard !bytes.isEmpty else { throw CommandFault(.usage, "\(path == "-" ? "standard input" : path) is empty") }
    return bytes
}

package func text(ofFile path: String) throws(CommandFault) -> String {
    let bytes = try filledContents(ofFile: path)
    guard let text = String(validating: bytes, as: UTF8.self) else {
        throw CommandFault(.usage, "\(path) is not UTF-8 text")
    }
    return text
}
