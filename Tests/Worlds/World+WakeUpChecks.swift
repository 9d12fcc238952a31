import Basis
import JSON
import Model
import WakeUpRules

// The promises to subscriptions.
extension SimulatedWorld {
    /// Records what subscriptions are told, and checks that they may be told it now.
    mutating func record(_ wakeUp: SimulatedWakeUp, _ before: SimulatedStore) {
        for (id, member) in zip(wakeUp.subscriptions, wakeUp.members) {
            let former = before.subscriptions.first { $0.id == id }
            var told = wakeUps.subscriptions[id] ?? .init(seq: -1, view: .whole(""))
            if former?.sentSeq == -1, told.seq != -1 {
                // It followed its token to another registration, or its token came back. It is told once more.
                wakeUps.followed += 1
                (told.seq, told.push) = (-1, nil)
            }
            judge(.toldOnce)
            if wakeUp.seq <= told.seq { fail("P4", "a subscription is told of change \(wakeUp.seq) twice") }
            if let push = told.push, wakeUp.message != nil {
                judge(.oneUnderWay)
                if ledger[push]?.isEnded != true { fail("P4", "a subscription has two pushes under way") }
            }
            if told.seq >= 0, wakeUp.seq > told.seq + 1 { wakeUps.merged += 1 }
            told.seq = wakeUp.seq
            if let message = wakeUp.message { told.push = PushPair(message: message, registration: member) }
            wakeUps.subscriptions[id] = told
        }
        guard let message = wakeUp.message, let text = wakeUp.text else { return }
        wakeUps.told += 1
        forms[message] = MessageForm(.background, badge: .none, message)
        wakeUps.tellings[message] = .init(
            watch: wakeUp.watch, seq: wakeUp.seq, mode: wakeUp.mode, text: text, subscriptions: wakeUp.subscriptions,
            members: wakeUp.members)
    }

    /// Checks that a watch with nothing to tell does not have its next turn at once.
    mutating func checkWaits(_ before: SimulatedStore) {
        for row in store.dueWatches {
            guard let former = before.dueWatches.first(where: { $0.watch == row.watch }), former != row,
                former.after == 0, row.after == 0
            else { continue }
            judge(.waitsForPushes)
            if row.dueAt <= wall { fail("P8", "a watch whose pushes have not ended has its next turn at once") }
        }
    }

    /// Lets the phone apply an accepted push.
    mutating func noteDelivered(_ push: WirePush) {
        guard let telling = wakeUps.tellings[push.message] else { return }
        let pair = PushPair(message: push.message, registration: push.registration)
        let isFirst = wakeUps.arrived.insert(pair).inserted
        for (id, member) in zip(telling.subscriptions, telling.members) where member == push.registration {
            // It may have followed its token to another registration.
            guard let row = store.subscriptions.first(where: { $0.id == id }), row.registration == member,
                var told = wakeUps.subscriptions[id]
            else { continue }
            judge(.inOrder)
            guard telling.seq >= told.arrivedSeq else {
                // A request that was on the wire when its push ended may arrive later.
                if isFirst, ledger[pair]?.isEnded == false { fail("P4", "a change arrives after a later one") }
                continue
            }
            told.arrivedSeq = telling.seq
            apply(telling, to: &told, row)
            wakeUps.subscriptions[id] = told
        }
    }

    private func apply(
        _ telling: WakeUpLedger.Telling, to told: inout WakeUpLedger.Told, _ row: SubscriptionRow
    ) {
        switch (telling.mode, told.view) {
        case (.value, .whole): told.view = .whole(telling.text)
        case (.childEvent, .children(var children)) where telling.text != "too big":
            for change in telling.text.split(separator: " ") { children.apply(String(change)) }
            told.view = .children(children)
        // The phone reads the data, also after it has subscribed in another mode.
        default: told.view = view(of: row)
        }
    }

    /// The knowledge of a phone that reads the data now.
    func view(of row: SubscriptionRow) -> NodeView {
        guard let watch = store.watch(row.watch) else { return .whole("") }
        let text = text(of: watch.app, at: watch.path)
        guard row.mode == .childEvent else { return .whole(text) }
        let depth = watch.path.depth
        let keys = Set(store.leaves(of: watch.app, at: watch.path).compactMap { $0.path.keys.dropFirst(depth).first })
        var children: [String: String] = [:]
        for key in keys { children[key] = self.text(of: watch.app, at: watch.path.named(key)) }
        return .children(children)
    }

    private func text(of app: AppID, at path: NodePath) -> String {
        String(decoding: NodeText.compose(store.leaves(of: app, at: path), at: path), as: UTF8.self)
    }

    /// Checks at the end that each subscription was told of all changes. Where its last push was accepted, its phone
    /// knows the data.
    mutating func checkSubscriptions() {
        for row in store.subscriptions where row.expiresAt > wall {
            guard store.registration(row.registration)?.isLive == true, let watch = store.watch(row.watch),
                let told = wakeUps.subscriptions[row.id]
            else { continue }
            if watch.seq > 0 { judge(.toldOfAll) }
            if row.sentSeq != watch.seq || told.seq < watch.seq {
                fail("P1", "a subscription was told up to change \(row.sentSeq) of \(watch.seq)")
            }
            guard let push = told.push, ledger[push]?.terminalStatus?.state == .accepted,
                !answerLedger.isContradicted(push)
            else { continue }
            judge(.sameView)
            let now = view(of: row)
            if told.view != now { fail("P1", "a phone knows \(told.view), but the data is \(now)") }
        }
    }
}

extension [String: String] {
    /// Applies a change in words: "+key=data", "~key=data" or "-key".
    fileprivate mutating func apply(_ change: String) {
        guard let first = change.first else { return }
        let rest = change.dropFirst()
        guard first != "-", let equals = rest.firstIndex(of: "=") else {
            self[String(rest)] = nil
            return
        }
        self[String(rest[..<equals])] = String(rest[rest.index(after: equals)...])
    }
}
