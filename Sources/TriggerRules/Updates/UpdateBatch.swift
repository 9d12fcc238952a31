import Basis

/// Updates that are committed together, decided in their order.
///
/// A trigger is asked after each update of its items, as if each had been committed alone.
package struct UpdateBatch: Sendable {
    /// One for each update: the reason why its item doesn't take it; nil: it does. Later updates are taken all the same.
    package let faults: [UpdateFault?]
    /// The items that took an update, as they are after the last one, by rising bytes of the name.
    package let items: [(name: String, state: ItemState)]

    private let histories: [ItemHistory]
    /// The index of each item's history, by the bytes of its name.
    private let places: [[UInt8]: Int]  // lookup only

    /// - Parameters:
    ///   - updates: in the order in which they are taken.
    ///   - items: the items as they were before, in any order. One that is missing had no updates.
    package init(_ updates: [ItemUpdate], items: [(name: String, state: ItemState)]) {
        var histories = items.map { ItemHistory(name: $0.name, before: $0.state) }
        var places: [[UInt8]: Int] = [:]  // lookup only
        for (place, history) in histories.enumerated() { places[Array(history.name.utf8)] = place }
        var faults: [UpdateFault?] = []
        for (order, update) in updates.enumerated() {
            let name = Array(update.item.utf8)
            let place = places[name] ?? histories.count
            if place == histories.count {
                places[name] = place
                histories.append(ItemHistory(name: update.item, before: .empty))
            }
            faults.append(histories[place].take(update.fields, order: order))
        }
        (self.faults, self.histories, self.places) = (faults, histories, places)
        self.items = histories.filter { !$0.states.isEmpty }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
            .map { (name: $0.name, state: $0.last) }
    }

    /// Asks triggers after each update of their items, in the order of the updates. It stops after the update with which
    /// it has done more work than a transaction should.
    ///
    /// A trigger is asked again only where an update names one of its fields: otherwise it has the result of before.
    package func ask(_ questions: [TriggerQuestion], workMax: Int) -> TriggerAnswers {
        var open: [Int: [Int]] = [:]  // lookup only
        for (number, question) in questions.enumerated() {
            if let place = places[Array(question.item.utf8)] { open[place, default: []].append(number) }
        }
        let steps = histories.indices.filter { open[$0] != nil }.flatMap { place in
            histories[place].states.enumerated().map { (place: place, isFirst: $0 == 0, at: $1) }
        }
        var answers = TriggerAnswers(updateCount: faults.count)
        var work = 0
        for (place, isFirst, (order, state)) in steps.sorted(by: { $0.at.order < $1.at.order }) {
            open[place]?.removeAll { number in
                guard questions[number].holds(after: state, isFirst: isFirst, work: &work) else { return false }
                answers.satisfied.append(number)
                return true
            }
            guard work <= workMax else {
                answers.updateCount = order + 1
                break
            }
        }
        return answers
    }

    private func states(of item: String) -> [(order: Int, state: ItemState)] {
        places[Array(item.utf8)].map { histories[$0].states } ?? []
    }

    /// The index in the batch of the last update that an item took; nil: it took none.
    package func lastOrder(of item: String) -> Int? { states(of: item).last?.order }

    /// The numbers that the fields of an item have after its updates. Takes one walk over these.
    /// - Parameter fields: those whose numbers are read; nil: all.
    package func numbers(of item: String, fields: [String]?) -> FieldNumbers {
        let wanted = fields.map { Set($0.map { Array($0.utf8) }) }  // lookup only
        var numbers = FieldNumbers()
        for (place, (_, state)) in states(of: item).enumerated() {
            // The number of a text is read once, however many updates leave it.
            for field in state.fields where place == 0 || field.seq == state.seq {
                if let wanted, !wanted.contains(Array(field.name.utf8)) { continue }
                numbers.add(field, after: state.seq)
            }
        }
        return numbers
    }

    /// The first update that satisfies a trigger; nil: none does.
    /// - Parameters:
    ///   - fields: those of the subscription, whose texts the push shows.
    ///   - items: those of the subscription.
    package func firing(
        _ trigger: TriggerExpression, of fields: [String], items: [String], _ mode: UpdateMode
    ) -> FiredTrigger? {
        var first: (order: Int, fired: FiredTrigger)?
        for item in items {
            for (order, state) in states(of: item) {
                if let first, first.order < order { break }
                guard trigger.holds({ state.field($0)?.shownText(mode, at: state.seq) }) else { continue }
                let texts = fields.map { state.field($0)?.shownText(mode, at: state.seq) }
                first = (order, FiredTrigger(item: item, texts: texts))
                break
            }
        }
        return first?.fired
    }
}

/// A trigger that an update satisfied.
package struct FiredTrigger: Equatable, Sendable {
    /// The item of the update.
    package let item: String
    /// The texts of the subscription's fields after the update, in the order of the fields. nil: the field has no value.
    package let texts: [String?]

    package init(item: String, texts: [String?]) { (self.item, self.texts) = (item, texts) }

    package static func == (left: FiredTrigger, right: FiredTrigger) -> Bool {
        left.item.hasSameBytes(as: right.item) && left.texts.elementsEqual(right.texts) { $0.hasSameBytes(as: $1) }
    }
}

/// The states of one item in a batch.
private struct ItemHistory: Sendable {
    let name: String
    let before: ItemState
    /// The state after each update that the item took, with the index of the update in the batch.
    private(set) var states: [(order: Int, state: ItemState)] = []

    init(name: String, before: ItemState) { (self.name, self.before) = (name, before) }

    var last: ItemState { states.last?.state ?? before }

    /// Returns the reason why the item doesn't take the update; nil: it does.
    mutating func take(_ update: UpdateFields, order: Int) -> UpdateFault? {
        do throws(UpdateFault) {
            states.append((order, try last.updated(with: update)))
            return nil
        } catch { return error }
    }
}
