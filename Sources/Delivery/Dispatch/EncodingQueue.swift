/// Parcels of one line that wait for their pushes to be made, in the order of their leases.
///
/// They are made one after the other, and each goes to its lane before the next is made: what has been due for longer
/// leaves first, and of two pushes to one device the one whose badge was raised last comes last.
package struct EncodingQueue<Parcel: Sendable>: Sendable {
    private var waiting: [Parcel] = []
    /// Of `waiting`, those in front that have gone.
    private var takenCount = 0
    private var hasMaker = false

    package init() {}

    /// - Returns: whether nobody is at work on them: a maker is to be sent, who takes until nothing is left.
    package mutating func add(_ parcel: Parcel) -> Bool {
        waiting.append(parcel)
        defer { hasMaker = true }
        return !hasMaker
    }

    /// The next one, for the maker; nil: nothing waits, and the maker goes.
    package mutating func take() -> Parcel? {
        guard takenCount < waiting.count else {
            self = EncodingQueue()
            return nil
        }
        let parcel = waiting[takenCount]
        takenCount += 1
        // Moved up now and then only, so that each is moved once or twice in all.
        if 2 * takenCount >= waiting.count {
            waiting.removeFirst(takenCount)
            takenCount = 0
        }
        return parcel
    }
}
