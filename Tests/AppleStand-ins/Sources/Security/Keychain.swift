// A stand-in for the keychain: a list in memory, with the status codes of the real one.

import Synchronization

public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecAttrService: CFString = "svce"
public let kSecAttrAccount: CFString = "acct"
public let kSecAttrLabel: CFString = "labl"
public let kSecAttrAccessGroup: CFString = "agrp"
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"
public let kSecAttrSynchronizable: CFString = "sync"
public let kSecUseDataProtectionKeychain: CFString = "nleg"
public let kSecValueData: CFString = "v_Data"
public let kSecReturnData: CFString = "r_Data"
public let kSecReturnAttributes: CFString = "r_Attributes"
public let kSecMatchLimit: CFString = "m_Limit"
public let kSecMatchLimitOne: CFString = "m_LimitOne"
public let kSecMatchLimitAll: CFString = "m_LimitAll"

/// The state of the keychain, for tests.
public final class StandInKeychain: Sendable {
    public static let shared = StandInKeychain()

    public struct Item: Sendable {
        public var strings: [String: String]
        public var usesDataProtection: Bool
        public var data: Data
    }

    struct State {
        var items: [Item] = []
        var isLocked = false
        var groups: Set<String>? = [""]
    }
    let state = Mutex(State())

    public var items: [Item] { state.withLock { $0.items } }

    /// Sets whether the device is locked since its start.
    public func setLocked(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

    /// Sets the access groups of the program's entitlements; an empty name is the program's own group. `nil` for a program without
    /// entitlements, such as a command-line tool.
    public func setAccessGroups(_ groups: Set<String>?) { state.withLock { $0.groups = groups } }

    public func removeAll() { state.withLock { $0 = State() } }
}

/// A query in a form that can be sent to the lock.
private struct Query: Sendable {
    let strings: [String: String]
    let usesDataProtection: Bool
    let data: Data?

    init(_ dictionary: CFDictionary) {
        strings = dictionary.compactMapValues { $0 as? String }
        usesDataProtection = dictionary[kSecUseDataProtectionKeychain as String] as? Bool ?? false
        data = dictionary[kSecValueData as String] as? Data
    }

    func matches(_ item: StandInKeychain.Item) -> Bool {
        item.usesDataProtection == usesDataProtection
            && [kSecClass, kSecAttrService, kSecAttrAccount, kSecAttrAccessGroup].allSatisfy { name in
                strings[name] == nil || item.strings[name] == strings[name]
            }
    }

    /// Returns the reason why the query cannot work now.
    func obstacle(_ state: borrowing StandInKeychain.State) -> OSStatus? {
        if strings[kSecClass] != kSecClassGenericPassword { return errSecParam }
        if usesDataProtection, state.groups?.contains(strings[kSecAttrAccessGroup] ?? "") != true {
            return errSecMissingEntitlement
        }
        return state.isLocked ? errSecInteractionNotAllowed : nil
    }
}

@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let query = Query(attributes)
    return StandInKeychain.shared.state.withLock { state in
        if let obstacle = query.obstacle(state) { return obstacle }
        if state.items.contains(where: query.matches) { return errSecDuplicateItem }
        state.items.append(
            StandInKeychain.Item(
                strings: query.strings, usesDataProtection: query.usesDataProtection, data: query.data ?? Data()))
        return errSecSuccess
    }
}

public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    let returnsData = query[kSecReturnData as String] as? Bool == true
    let query = Query(query)
    let (status, data) = StandInKeychain.shared.state.withLock { state -> (OSStatus, Data?) in
        if let obstacle = query.obstacle(state) { return (obstacle, nil) }
        guard let item = state.items.first(where: query.matches) else { return (errSecItemNotFound, nil) }
        return (errSecSuccess, item.data)
    }
    if returnsData, let data { result?.pointee = data }
    return status
}

@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    let query = Query(query)
    return StandInKeychain.shared.state.withLock { state in
        if let obstacle = query.obstacle(state) { return obstacle }
        guard state.items.contains(where: query.matches) else { return errSecItemNotFound }
        state.items.removeAll(where: query.matches)
        return errSecSuccess
    }
}
