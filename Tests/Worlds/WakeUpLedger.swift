import Model

/// The world's own record of what subscriptions were told, and of what their phones know. Only checkers read it.
package struct WakeUpLedger: Sendable {
    /// A message to subscriptions of one watch.
    struct Telling: Sendable {
        let watch: Int64
        let seq: Int64
        let mode: WakeUpMode
        let text: String
        let subscriptions: [Int64]
        let members: [RegistrationID]
    }

    /// One subscription: what it was told, and its phone's view of the data.
    struct Told: Sendable {
        /// The number of the last change that it was told of.
        var seq: Int64
        /// Its last push.
        var push: PushPair?
        /// The number of the newest push that has arrived.
        var arrivedSeq: Int64 = -1
        var view: NodeView
    }

    /// By message. Never iterated.
    var tellings: [MessageID: Telling] = [:]
    /// By subscription. Never iterated.
    var subscriptions: [Int64: Told] = [:]
    /// Pushes that have arrived at least once. Never iterated.
    var arrived: Set<PushPair> = []
    var messages: UInt64 = 0
    package var told = 0
    package var merged = 0
    package var slices = 0
    package var followed = 0
    package var expired = 0
}

/// A phone's knowledge of a node: its text, or the texts of its children.
enum NodeView: Equatable, Sendable {
    case whole(String)
    case children([String: String])
}
