/// A cache of the most recently used values. Reading counts as use. Every operation takes constant time.
///
/// It is inlinable, because the generic code of another module is several times slower than specialized code.
package struct LRUCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Entry {
        @usableFromInline let key: Key
        @usableFromInline var value: Value
        /// The neighbors by index: the entries used after and before this one; -1 if there is no neighbor.
        @usableFromInline var newer: Int
        @usableFromInline var older: Int

        @inlinable init(key: Key, value: Value, newer: Int, older: Int) {
            (self.key, self.value, self.newer, self.older) = (key, value, newer, older)
        }
    }

    @usableFromInline let capacity: Int
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var index: [Key: Int] = [:]
    @usableFromInline var newest = -1
    @usableFromInline var oldest = -1

    /// Creates a cache with a capacity of at least one value.
    @inlinable package init(capacity: Int) { self.capacity = max(capacity, 1) }

    @inlinable package var count: Int { entries.count }

    @inlinable package subscript(key: Key) -> Value? {
        mutating get {
            guard let found = index[key] else { return nil }
            use(found)
            return entries[found].value
        }
        set {
            guard let newValue else { return remove(key) }
            if let found = index[key] {
                entries[found].value = newValue
                return use(found)
            }
            if entries.count >= capacity { remove(entries[oldest].key) }
            index[key] = entries.count
            entries.append(Entry(key: key, value: newValue, newer: -1, older: newest))
            if newest >= 0 { entries[newest].newer = entries.count - 1 }
            newest = entries.count - 1
            if oldest < 0 { oldest = newest }
        }
    }

    @inlinable package mutating func removeAll() { self = LRUCache(capacity: capacity) }

    @inlinable mutating func use(_ found: Int) {
        guard found != newest else { return }
        unlink(found)
        entries[found].newer = -1
        entries[found].older = newest
        if newest >= 0 { entries[newest].newer = found }
        newest = found
        if oldest < 0 { oldest = found }
    }

    @inlinable mutating func unlink(_ found: Int) {
        let (newer, older) = (entries[found].newer, entries[found].older)
        if newer >= 0 { entries[newer].older = older } else { newest = older }
        if older >= 0 { entries[older].newer = newer } else { oldest = newer }
    }

    @inlinable mutating func remove(_ key: Key) {
        guard let found = index.removeValue(forKey: key) else { return }
        unlink(found)
        // The last entry moves to the free slot.
        let last = entries.count - 1
        if found != last {
            let moved = entries[last]
            entries[found] = moved
            index[moved.key] = found
            if moved.newer >= 0 { entries[moved.newer].older = found } else { newest = found }
            if moved.older >= 0 { entries[moved.older].newer = found } else { oldest = found }
        }
        entries.removeLast()
    }
}
