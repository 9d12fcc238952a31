import Basis
import Content
import Model
import Reactor
import Store

/// The reason why a message is not changed. Nothing of it was written.
package enum RevisionRefusal<Refusal: Error & Sendable>: Error, Sendable {
    /// The caller's own.
    case declined(Refusal)
    /// The message would have a content that a provider refuses.
    case content(ContentFault)
    case hour(SendTimeFault)
    /// The app has as many unfinished messages of the message's new urgency as allowed.
    case backlogFull(MessageUrgency)
}

/// A message as its sender wants it from now on.
package struct RequestedRevision: Sendable {
    /// The request as it is from now on; nil: the message's content, audience and time stay.
    package var request: StoredRequest?
    package var isRedated = false
    /// When a message at a local hour reaches the first device of its audience; nil: not known.
    package var firstDevice: WallInstant?
    package var name: ProfileChange.Change<String> = .keep
    package var ratePerSecond: ProfileChange.Change<Int32> = .keep

    package init() {}
}

extension MessageIntake {
    /// Changes a message in one transaction. If its content, audience or time changes, the whole message is checked as
    /// if it were new.
    ///
    /// - Parameters:
    ///   - beforeStart: whether the change requires that the message has not started.
    ///   - audience: the new audience; nil: it stays.
    ///   - change: makes the new request from the stored one, under the message's lock.
    package func revise<Refusal>(
        _ id: MessageID, of app: AppID, beforeStart: Bool, audience: Audience?,
        _ change: @escaping @Sendable (MessageRecord) throws(Refusal) -> RequestedRevision
    ) async throws(StoreFault) -> RevisionReply<RevisionRefusal<Refusal>> {
        let urgency = audience.map(Self.urgency(of:))
        let status = try await store.status(
            of: app, urgency ?? .bulk, countingTo: urgency.map { backlog.bounds.max($0) } ?? 0)
        return try await store.revise(id, of: app, beforeStart: beforeStart, audience: audience) { record in
            Result { () throws(RevisionRefusal<Refusal>) in
                let requested: RequestedRevision
                do throws(Refusal) { requested = try change(record) } catch { throw .declined(error) }
                var revision = MessageRevision()
                (revision.name, revision.ratePerSecond) = (requested.name, requested.ratePerSecond)
                guard let stored = requested.request else { return revision }
                let request: Request
                do throws(SendTimeFault) {
                    request = try Request(revising: record, to: stored, requested)
                } catch { throw .hour(error) }
                let checked: [CheckedMessage]
                do throws(FaultyContent) {
                    checked = try messages(request, reached: status.providers, revised: id)
                } catch { throw .content(error.fault) }
                if let urgency, urgency != record.urgency, status.openMessages >= backlog.bounds.max(urgency) {
                    throw .backlogFull(urgency)
                }
                (revision.rewritten, revision.isRedated) = (checked[0].message, requested.isRedated)
                return revision
            }
        }
    }
}

extension MessageIntake.Request {
    /// The stored message as it would be after a change. Without a new time, the stored one stays, and is not checked.
    fileprivate init(
        revising record: MessageRecord, to stored: StoredRequest, _ requested: RequestedRevision
    ) throws(SendTimeFault) {
        var asked = IntakeRequest(
            [stored.content], to: stored.audience, app: record.app, sendAt: requested.isRedated ? stored.sendAt : nil)
        asked.firstDevice = requested.firstDevice
        try self.init(asked, now: Clocks.wallNow())
    }
}
