import Encodings
import JSON
import Reactor
import Signing

/// A service account of a Firebase project: Google's record of it, and the file for its owner.
package struct ServiceAccount: Sendable {
    package let projectID: String
    /// Paths may name the project by id or by number.
    package let projectNumber: String
    package let clientEmail: String
    package let privateKeyID: String
    package let publicKeyPEM: [UInt8]
    private let privateKeyPEM: [UInt8]

    /// Makes an account with a new RSA key of 2,048 bits.
    package init(
        projectID: String, projectNumber: String = "100000000001", name: String = "carillon"
    ) throws(SigningError) {
        let key = try RS256Key.generate()
        (self.projectID, self.projectNumber) = (projectID, projectNumber)
        clientEmail = "\(name)@\(projectID).iam.gserviceaccount.com"
        privateKeyID = Hexadecimal.text(Entropy.bytes(20))
        publicKeyPEM = try key.publicPEM()
        privateKeyPEM = try key.privatePEM()
    }

    /// Reads the file of an earlier run; nil: it is no such file.
    package init?(file: [UInt8]) {
        guard let members = try? JSONReader.read(file).object, let projectID = members["project_id"]?.string,
            let projectNumber = members["client_id"]?.string, let clientEmail = members["client_email"]?.string,
            let privateKeyID = members["private_key_id"]?.string, let pem = members["private_key"]?.string,
            let key = try? RS256Key(pem: Array(pem.utf8)), let publicPEM = try? key.publicPEM()
        else { return nil }
        (self.projectID, self.projectNumber) = (projectID, projectNumber)
        (self.clientEmail, self.privateKeyID) = (clientEmail, privateKeyID)
        publicKeyPEM = publicPEM
        privateKeyPEM = Array(pem.utf8)
    }

    /// The JSON file for senders, with the same members as Google's. It is a secret, if only of a stand-in.
    package func file(tokenURI: String) -> [UInt8] {
        let file: JSONValue = [
            "type": "service_account", "project_id": .string(projectID), "private_key_id": .string(privateKeyID),
            "private_key": .string(String(decoding: privateKeyPEM, as: UTF8.self)),
            "client_email": .string(clientEmail), "client_id": .string(projectNumber), "token_uri": .string(tokenURI),
        ]
        return file.bytes + [UInt8(ascii: "\n")]
    }

    func isOf(project: String) -> Bool { project == projectID || project == projectNumber }
}
