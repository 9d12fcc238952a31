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
    /// The provider's name for people, such as "APNs".
    var title: String { get }

    /// The environments of its tokens, production first.
    var environments: [PushEnvironment] { get }
    var kinds: [TokenKind] { get }
    var hasTopics: Bool { get }
    /// The days without a renewal after which a registration counts as stale, unless its app chose other ones.
    /// nil: never.
    var staleDays: Int32? { get }

    /// Reads a token as the provider's library gives it to an app. Throws `invalid_token`.
    func readToken(_ text: String) throws(ProviderFault) -> DeviceToken
    func text(of token: DeviceToken) -> String
    /// Reads the topic of a token. Throws `invalid_value`.
    /// - Parameter kind: the token's kind; nil: it is not known.
    func readTopic(_ text: String, kind: TokenKind?) throws(ProviderFault) -> String

    var credentialForms: [CredentialForm] { get }
    /// The kinds of credentials, for a client that named none.
    var credentialKinds: String { get }
    /// Checks which members a form has, without reading any key. Throws a fault whose pointer is a member.
    func checkForm(_ form: SubmittedForm) throws(ProviderFault)
    /// Reads a credential as it was submitted or sealed. An encrypted file may take a second.
    func readCredential(_ form: SubmittedForm, _ keys: any KeyReader) throws(ProviderFault) -> any ProviderCredential

    /// The kinds of tokens that pushes of a type go to, the usual one first. Empty: the provider has no such pushes.
    func tokenKinds(of type: PushType) -> [TokenKind]

    /// Whether the sender's object for the provider may be a list of records, each of which is a message of its own.
    var takesRecords: Bool { get }

    /// Whether a place in the message becomes a header. A header has rules of its own, and a value that breaks them
    /// would make the request invalid, so placeholders are not allowed there.
    func isHeader(_ place: JSONPointer) -> Bool

    /// Whether the provider checks a dry run's pushes itself. Otherwise they are built and checked, but not sent.
    var offersValidation: Bool { get }

    /// The texts of a notification that the provider's devices show. A push without visible text among them is withheld.
    /// - Parameter content: with marks in the place of placeholders.
    func shownTexts(of content: MessageContent) -> ShownTexts

    /// One of its devices at the beginning of a sentence, such as "An iPhone".
    var deviceName: String { get }
    /// Returns a push as a device shows it; nil: nobody knows how it looks.
    /// - Parameters:
    ///   - body: the body of a request (`PushPreview`).
    ///   - badge: shown in place of the body's number if each device has its own next number.
    func picture(of body: JSONValue, badge: String?) -> NotificationPicture?
    /// Returns sentences about what its devices do not show, or show under a condition only.
    /// - Parameter text: the text in the device's language.
    func remarks(about text: NotificationText?, _ presentation: NotificationPresentation, sound: String?) -> [String]

    /// Compiles a message, whose texts have marks in the place of placeholders. Throws what the sender has to change.
    /// The same content compiles the same at every attempt.
    func compile(_ content: MessageContent, message: MessageID) throws(ProviderFault) -> any CompiledPush

    /// Whether a wake-up subscription may name a token that no registration holds.
    var takesUnknownSubscribers: Bool { get }

    /// Makes the message of a wake-up: strings for the app, and nothing that people see but an alert that is asked for.
    func wakeUp(_ members: [DataMember], _ presentation: WakeUpPresentation) -> MessageContent

    /// Returns the sender's object for the provider, completed by what the pushes of a subscription to items ask for.
    /// Members that the sender gave stay. Throws what the sender has to change.
    /// - Parameter own: the sender's object; nil: there is none.
    func itemObject(_ own: JSONText?, _ delivery: ItemDelivery) throws(ProviderFault) -> JSONText?

    /// Whether the sender's object by itself shows, plays or counts something on a device.
    func showsAlone(_ own: JSONText) -> Bool

    /// The facts about its answers that its lane and the engine need before it classifies them.
    var answerRules: AnswerRules { get }

    /// Translates one delivery's responses, apart from plain successes: the outcome of each push, and the consequences
    /// for the lane.
    ///
    /// A success that can't be read in its body is `.unknown`. Each member of each response gets one outcome.
    /// - Parameter bytes: the bytes that the responses' ranges refer to.
    func classify(_ responses: [ProviderResponse], bytes: [UInt8], _ context: AnswerContext) -> ClassifiedAnswers

    /// Says what is wrong with the bodies of plain successes, without quoting them; nil: they are as documented. The pushes
    /// are accepted all the same. A body that is missing may have been cut off, and is not given.
    /// - Parameter bytes: the bytes that the ranges refer to.
    func undocumentedBody(ofAccepted bodies: [ByteRange], bytes: [UInt8]) -> String?
}

extension PushProvider {
    package func serves(_ type: PushType) -> Bool { !tokenKinds(of: type).isEmpty }

    package func checkForm(_ form: SubmittedForm) throws(ProviderFault) {}

    package func itemObject(_ own: JSONText?, _ delivery: ItemDelivery) throws(ProviderFault) -> JSONText? { own }

    package func showsAlone(_ own: JSONText) -> Bool { false }

    /// Whether a token that is unknown in one environment may belong to another one.
    package var hasSiblingEnvironment: Bool { environments.count > 1 }
}
