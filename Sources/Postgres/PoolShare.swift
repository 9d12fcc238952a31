/// The account that a conversation with the database counts for. A pool serves the shares that wait in turn, so however
/// many conversations one share has, another share's next one waits for one of each at most (P7).
package enum PoolShare: Hashable, Sendable {
    /// The program's own work, and requests that concern no app.
    case common
    /// The requests of an app's keys.
    case app(String)
    /// All callers without a valid key together: they have few sessions at once, whatever app they ask about.
    case strangers

    /// The share of the current task. Tasks that it starts belong to it too.
    @TaskLocal package static var current = PoolShare.common
}
