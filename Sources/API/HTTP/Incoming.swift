import HTTPTypes
import Hummingbird
import NIOCore

/// A request on its way through the door, in one task.
final class Incoming {
    let request: Request
    let channel: any Channel
    /// nil until one fits.
    var endpoint: Endpoint?
    /// Whether nothing of the body is left that nobody will read.
    var isBodyRead = false
    /// Whether a client that waits to be asked for its body was.
    private(set) var isBodyAskedFor = false

    /// In lower case.
    static let bodyAfterAsking = "100-continue"

    init(request: Request, channel: any Channel) {
        self.request = request
        self.channel = channel
    }

    /// In lower case: names of expectations are compared so.
    private var expectations: [String] {
        var names: [String] = []
        for value in request.headers[values: .expect] {
            for name in value.split(separator: ",") { names.append(Self.withoutBlanksAround(name).lowercased()) }
        }
        return names
    }

    private static func withoutBlanksAround(_ name: Substring) -> Substring {
        var name = name.drop(while: \.isWhitespace)
        while name.last?.isWhitespace == true { name.removeLast() }
        return name
    }

    var hasExpectations: Bool { request.headers.contains(.expect) }

    func checkExpectations() throws(Problem) {
        guard expectations.allSatisfy({ $0 == Self.bodyAfterAsking }) else {
            throw Problem(
                .expectationFailed, "The header Expect can only say 100-continue here. Leave it out, or send that.")
        }
    }

    /// Its head is good, its key too, and as much as it announces is taken.
    func askForBody() {
        isBodyAskedFor = true
        guard hasExpectations else { return }
        channel.pipeline.fireUserInboundEventTriggered(RequestStallHandler.BodyIsWanted())
    }
}
