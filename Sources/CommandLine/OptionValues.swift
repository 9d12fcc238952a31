import ArgumentParser
import Model
import Providers

/// Values that an option takes, for a shell's completion.
enum OptionValues {
    static let providers = CompletionKind.list(PushProviders.names)
    /// The same in a sentence: "apns or fcm".
    static let providerChoice = PushProviders.names.joined(separator: " or ")
    static let environments = CompletionKind.list(PushEnvironment.allCases.map(\.name))
    static let kinds = CompletionKind.list(TokenKind.allCases.map(\.name))
    static let pushTypes = CompletionKind.list(PushType.allCases.map(\.name))
    static let scopes = CompletionKind.list(APIScope.allCases.map(\.rawValue))
    static let registrationStates = CompletionKind.list(["active", "suspected", "retired"])
    static let messageStates = CompletionKind.list(MessageState.allCases.map(\.name))
    static let outcomes = CompletionKind.list(TerminalState.allCases.filter { $0 != .accepted }.map(\.name))
}
