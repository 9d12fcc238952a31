import Basis
import Content
import JSON
import Model

/// A push provider: everything that is particular to it, behind one interface.
///
/// The rest of the gateway never asks which provider it deals with. Methods are called once per message, parcel or
/// batch of answers; a loop over pushes lies inside.
package protocol PushProvider: Sendable {
    var id: Provider { get }

    /// The kinds of tokens that pushes of a type go to, the usual one first. Empty: the provider has no such pushes.
    func tokenKinds(of type: PushType) -> [TokenKind]

    /// Whether the sender's object for the provider may be a list of records, each of which is a message of its own.
    var takesRecords: Bool { get }

    /// Whether a place in the message becomes a header. A header has rules of its own, and a value that breaks them
    /// would make the request invalid, so placeholders are not allowed there.
    func isHeader(_ place: JSONPointer) -> Bool

    /// Whether the provider checks a dry run's pushes itself. Otherwise they are built and checked, but not sent.
    var offersValidation: Bool { get }

    /// Compiles a message, whose texts have marks in the place of placeholders. Throws what the sender has to change. The same content compiles the same at every attempt.
    func compile(_ content: MessageContent, message: MessageID) throws(ProviderContentFault) -> any CompiledPush

    /// Translates one delivery's responses, apart from plain 200s: the outcome of each push, and the consequences for
    /// the lane.
    /// - Parameter bytes: the bytes that the responses' ranges refer to.
    func classify(_ responses: [ProviderResponse], bytes: [UInt8], _ context: AnswerContext) -> ClassifiedAnswers
}

extension PushProvider {
    /// Whether the provider has pushes of that type.
    package func serves(_ type: PushType) -> Bool { !tokenKinds(of: type).isEmpty }
}
