import QueueRules

// The events of a world as sentences, for the reader of a trace.
extension WorldEvent: CustomStringConvertible {
    var description: String {
        switch self {
        case .wake(let to): "\(to) wakes by its timer"
        case .housekeeping(let to): "\(to) starts its maintenance"
        case .flush(let to): "\(to) hands answers to its dispatcher"
        case .notified(let to): "\(to) is notified of work"
        case .watchesRaised(let to): "\(to) is notified that watched data changed"
        case .itemsRaised(let to): "\(to) is notified that items were updated"
        case .stopsNotified(let to): "\(to) is notified that a message was paused, cancelled or changed"
        case .ends(let to): "\(to) ends"
        case .resolved(let to, let serviceRoute, let lane):
            "\(to): route \(serviceRoute.route.value) \(lane.map { "leaves by \($0.text)" } ?? "has no credential")"
        case .credentialsChanged(let to): "\(to) is notified that credentials changed"
        case .laneCloses(let to, let lane, let cause): "\(to): \(lane.text) can't send (\(cause))"
        case .laneOpens(let to, let lane): "\(to): \(lane.text) can send"
        case .laneTimer(let to, let lane): "\(to): \(lane.text) reads its queue"
        case .connectionDies(let to, _, let connection): "\(to): connection \(connection) answers no PING"
        case .lastStreamSent(let to, _, let connection): "\(to): connection \(connection) receives its last stream id"
        case .accessArrives(let to, _, let token): "\(to) gets \(token == nil ? "no" : "an") access token"
        case .callArrives(let call, let willBeAnswered):
            "the database gets \(call.text)\(willBeAnswered ? "" : ", whose caller won't hear of it")"
        case .callAnswered(let call, let reply): "\(call.text): \(reply.text)"
        case .pushArrives(let push): "\(push.provider) gets \(push.text)"
        case .streamEnds(let to, _, let stream, let end): "\(to): stream \(stream) ends, \(end.text)"
        case .repeated(let to, let lease, let position, _):
            "\(to) gets a second answer for \(lease.text), position \(position)"
        case .restart(let process): "process \(process) starts"
        case .thaw(let process): "process \(process) is resumed"
        case .mischief(let mischief): mischief.text
        case .deviceEvent: "a device acts"
        case .changeOfHands: "a device changes hands"
        case .subscriberEvent: "a phone changes what it subscribes to"
        case .writeNode(let number): "the backend sends write \(number + 1)"
        case .itemEvent: "a phone changes its subscriptions to items"
        case .produce(let number): "a producer sends its stream up to line \(number + 1)"
        case .send(let number): "message \(number + 1) is sent to a gateway"
        case .control(let number, let control): "message \(number + 1): \(control)"
        case .askArrives(let asking): "message \(asking.number + 1): a request arrives after its client gave up"
        case .faultsEnd: "the faults end"
        }
    }
}

extension Mischief {
    fileprivate var text: String {
        switch self {
        case .kill: "a process is killed"
        case .freeze: "a process is frozen"
        case .drain: "a process is drained"
        case .outage: "the database is unreachable"
        case .slowness: "the database is slow"
        case .unreachable: "a provider can't be reached"
        case .connectionTrouble: "a connection is in trouble"
        case .storm: "a provider refuses pushes"
        case .credentialTrouble: "a credential is in trouble"
        case .revocation: "access tokens are revoked"
        case .tokenExpiry: "provider tokens expire"
        case .wave: "answers come late, in a wave"
        case .clockStep: "the database's clock steps"
        case .wallStep: "a process's clock steps"
        }
    }
}

extension Addressee: CustomStringConvertible {
    /// The process and its incarnation.
    package var description: String { "process \(process).\(incarnation)" }
}

extension LaneKey {
    fileprivate var text: String { "lane \(credential.value)" }
}

extension LeaseName {
    fileprivate var text: String { "parcel \(parcel.value), lease \(epoch)" }
}

extension SettleEntry {
    fileprivate var text: String {
        "\(pending.settlement.settles) of \(name.text), \(pending.settlement.pendingAfter) left open"
    }
}

extension StoreCall {
    fileprivate var text: String {
        switch request {
        case .poll: "\(from)'s poll for work"
        case .lease(let request): "\(from)'s lease on route \(request.serviceRoute.route.value)"
        case .renew(let leases): "\(from)'s renewal of \(leases.map(\.text).joined(separator: "; "))"
        case .verdicts(let entry): "\(from)'s \(entry.pending.verdicts.count) verdicts of \(entry.name.text)"
        case .settle(let entries): "\(from)'s settle \(entries.map(\.text).joined(separator: "; "))"
        case .plan: "\(from)'s plan"
        case .maintain(let round): "\(from)'s \(round.step?.text ?? "nothing")"
        case .heartbeat(let project): "\(from)'s heartbeat for project \(project)"
        case .find(let cut): "\(from)'s query for the members of message \(cut.message.id.value.high)"
        case .writeNode(let number): "\(from)'s write \(number + 1)"
        case .fanOut: "\(from)'s fan-out"
        case .endExpired: "\(from)'s query for expired subscriptions"
        case .updateItems(let lines): "\(from)'s \(lines.count) updates up to line \((lines.last ?? -1) + 1)"
        case .pushItems(.follow): "\(from)'s round of followers"
        case .pushItems(.release): "\(from)'s release of held pushes"
        case .cut(let cut): "\(from)'s cut of message \(cut.message.id.value.high), \(cut.lanes.count) routes admitted"
        }
    }
}

extension UpkeepStep {
    fileprivate var text: String {
        switch self {
        case .rescue: "rescue"
        case .confirm: "query for suspicions"
        case .fallDue: "query for due schedules"
        case .checkControls: "query for pauses, cancels and rates"
        case .putOnHold(let message): "putting message \(message.value.high) on hold"
        case .end(let message): "ending of message \(message.value.high)"
        case .release(let message): "release of message \(message.value.high)"
        case .liftRates(let message): "release of message \(message.value.high) from its rate"
        case .forgetStops: "forgetting of stops"
        case .forgetRates: "forgetting of rates"
        }
    }
}

extension StoreReply {
    fileprivate var text: String {
        switch self {
        case .failed: "no reply"
        case .routes(let routes, _, _): "\(routes.count) routes have work"
        case .leased(let parcels, _, _):
            parcels.isEmpty ? "nothing there" : parcels.map(\.text).joined(separator: "; ")
        case .renewed(let stillLeased): stillLeased.map { $0 ? "held" : "lost" }.joined(separator: "; ")
        case .verdictsWritten: "written"
        case .settled(let replies): replies.map { $0?.text ?? "refused" }.joined(separator: "; ")
        case .planned(let slice): slice.map { "\($0.members) members" } ?? "nothing to plan"
        case .senders(let count): "\(count) processes send to it"
        case .demand(let demands): "\(demands.reduce(0) { $0 + $1.members }) members on \(demands.count) routes"
        case .cut(let parcels, _, let ready):
            "written, \(ready.count) routes ready; \(parcels.map(\.text).joined(separator: "; "))"
        case .replayed: "accepted before"
        case .nodeWritten(let raisedAny): raisedAny ? "written" : "written, and nobody watches it"
        case .fannedOut(let ready): ready.map { "told, \($0.count) routes ready" } ?? "nothing to tell"
        case .maintained(let kept): "\(kept.count) rows\(kept.isFull ? ", there may be more" : "")"
        }
    }
}

extension SettleReply {
    fileprivate var text: String {
        switch self {
        case .settled: "written"
        case .fenced: "fenced"
        }
    }
}

extension WirePush {
    fileprivate var text: String {
        "stream \(stream): message \(message.value.high) for registration \(registration.value)"
    }
}

extension StreamEnd {
    fileprivate var text: String {
        switch self {
        case .answered(let answer): "\(answer.kind.rawValue)\(answer.retryAfter.map { ", again in \($0) s" } ?? "")"
        case .fault(let isSent, let fault): "\(fault), \(isSent ? "sent" : "not sent")"
        }
    }
}

extension LeasedParcel {
    fileprivate var text: String {
        "parcel \(id.value), lease \(epoch), \(members.count) members, try \(attempt + 1)"
    }
}
