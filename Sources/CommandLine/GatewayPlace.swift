import Foundation
import NIOSSL

/// Where a command reaches its gateway, and whom it trusts there.
package struct GatewayPlace: Sendable {
    package let base: String
    package private(set) var authorities: [NIOSSLCertificate] = []
    /// The hosts to connect to in place of the names in `base`.
    package private(set) var hosts: [String: String] = [:]

    init(base: String) { self.base = base }

    /// Finds the gateway that CARILLON_URL names, or one on this machine with these settings. The latter may have a
    /// certificate for its public name alone: it is then asked by that name, over the loopback.
    package init(environment: [String: String]) throws(CommandFault) {
        let text = try GatewayAddress.base(GatewayAddress.text(environment: environment))
        let isNamed = environment["CARILLON_URL"]?.isEmpty == false
        guard !isNamed, let file = environment["CARILLON_TLS_CERTIFICATE"], !file.isEmpty,
            let own = OwnCertificate(file: file), let url = URL(string: text), let port = url.port,
            let host = url.host(percentEncoded: false)
        else {
            base = text
            return
        }
        authorities = own.chain
        if let name = own.name, !own.lists(address: host) {
            (base, hosts) = ("https://\(name):\(port)", [name: host])
        } else {
            base = text
        }
    }
}
