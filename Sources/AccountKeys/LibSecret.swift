import Platform

/// The functions of libsecret and of the libraries below it, looked for when the program runs: nothing is linked, so a machine
/// without them runs the program all the same. No function with a variable number of arguments is among them.
///
/// [libsecret](https://gnome.pages.gitlab.gnome.org/libsecret/)
struct LibSecret {
    typealias Pointer = UnsafeMutableRawPointer
    /// Where a function leaves an object, most often its error: a `GError *`.
    typealias ErrorPlace = UnsafeMutablePointer<Pointer?>

    // GLib and GIO.
    let hashNew: @convention(c) (Pointer, Pointer) -> Pointer?
    let hashInsert: @convention(c) (Pointer, UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32
    let hashUnref: @convention(c) (Pointer) -> Void
    let listAppend: @convention(c) (Pointer?, Pointer) -> Pointer?
    let listFree: @convention(c) (Pointer?) -> Void
    let quarkName: @convention(c) (UInt32) -> UnsafePointer<CChar>?
    let errorFree: @convention(c) (Pointer) -> Void
    let unref: @convention(c) (Pointer) -> Void
    let cancellableNew: @convention(c) () -> Pointer?
    let cancel: @convention(c) (Pointer) -> Void
    let busGet: @convention(c) (Int32, Pointer?, ErrorPlace) -> Pointer?
    let busSetExitOnClose: @convention(c) (Pointer, Int32) -> Void
    // libsecret.
    let serviceGet: @convention(c) (Int32, Pointer?, ErrorPlace) -> Pointer?
    let serviceDisconnect: @convention(c) () -> Void
    let search: @convention(c) (Pointer, Pointer?, Pointer, Int32, Pointer?, ErrorPlace) -> Pointer?
    typealias Store =
        @convention(c) (
            Pointer, Pointer?, Pointer, UnsafePointer<CChar>, UnsafePointer<CChar>, Pointer, Pointer?, ErrorPlace
        ) -> Int32
    let store: Store
    let unlock: @convention(c) (Pointer, Pointer?, Pointer?, ErrorPlace, ErrorPlace) -> Int32
    let collectionForAlias: @convention(c) (Pointer, UnsafePointer<CChar>, Int32, Pointer?, ErrorPlace) -> Pointer?
    let collectionIsLocked: @convention(c) (Pointer) -> Int32
    let itemIsLocked: @convention(c) (Pointer) -> Int32
    let itemLoadSecret: @convention(c) (Pointer, Pointer?, ErrorPlace) -> Int32
    let itemGetSecret: @convention(c) (Pointer) -> Pointer?
    let itemDelete: @convention(c) (Pointer, Pointer?, ErrorPlace) -> Int32
    let valueNew: @convention(c) (UnsafePointer<UInt8>, Int, UnsafePointer<CChar>) -> Pointer?
    let valueGet: @convention(c) (Pointer, UnsafeMutablePointer<Int>) -> UnsafePointer<UInt8>?
    let valueUnref: @convention(c) (Pointer) -> Void
    // These two are only handed on.
    let stringHash: Pointer
    let stringEqual: Pointer

    /// The name under which the library is found.
    static let fileName = "libsecret-1.so.0"

    /// The library; nil when it is not installed, or lacks a function.
    init?() {
        // It stays loaded: its types are registered in GLib for the life of the process.
        guard let library = DynamicLibrary([Self.fileName]) else { return nil }
        // libsecret leads to the functions of GLib, too. The types are those of the libraries' headers.
        func find<Function>(_ name: String) -> Function? { library.function(name) }
        guard
            let hashNew: @convention(c) (Pointer, Pointer) -> Pointer? = find("g_hash_table_new"),
            let hashInsert: @convention(c) (Pointer, UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32 = find(
                "g_hash_table_insert"),
            let hashUnref: @convention(c) (Pointer) -> Void = find("g_hash_table_unref"),
            let listAppend: @convention(c) (Pointer?, Pointer) -> Pointer? = find("g_list_append"),
            let listFree: @convention(c) (Pointer?) -> Void = find("g_list_free"),
            let quarkName: @convention(c) (UInt32) -> UnsafePointer<CChar>? = find("g_quark_to_string"),
            let errorFree: @convention(c) (Pointer) -> Void = find("g_error_free"),
            let unref: @convention(c) (Pointer) -> Void = find("g_object_unref"),
            let cancellableNew: @convention(c) () -> Pointer? = find("g_cancellable_new"),
            let cancel: @convention(c) (Pointer) -> Void = find("g_cancellable_cancel"),
            let busGet: @convention(c) (Int32, Pointer?, ErrorPlace) -> Pointer? = find("g_bus_get_sync"),
            let busSetExitOnClose: @convention(c) (Pointer, Int32) -> Void = find(
                "g_dbus_connection_set_exit_on_close"),
            let serviceGet: @convention(c) (Int32, Pointer?, ErrorPlace) -> Pointer? = find("secret_service_get_sync"),
            let serviceDisconnect: @convention(c) () -> Void = find("secret_service_disconnect"),
            let search: @convention(c) (Pointer, Pointer?, Pointer, Int32, Pointer?, ErrorPlace) -> Pointer? = find(
                "secret_service_search_sync"),
            let store: Store = find("secret_service_store_sync"),
            let unlock: @convention(c) (Pointer, Pointer?, Pointer?, ErrorPlace, ErrorPlace) -> Int32 = find(
                "secret_service_unlock_sync"),
            let collectionForAlias:
                @convention(c) (Pointer, UnsafePointer<CChar>, Int32, Pointer?, ErrorPlace) -> Pointer? = find(
                    "secret_collection_for_alias_sync"),
            let collectionIsLocked: @convention(c) (Pointer) -> Int32 = find("secret_collection_get_locked"),
            let itemIsLocked: @convention(c) (Pointer) -> Int32 = find("secret_item_get_locked"),
            let itemLoadSecret: @convention(c) (Pointer, Pointer?, ErrorPlace) -> Int32 = find(
                "secret_item_load_secret_sync"),
            let itemGetSecret: @convention(c) (Pointer) -> Pointer? = find("secret_item_get_secret"),
            let itemDelete: @convention(c) (Pointer, Pointer?, ErrorPlace) -> Int32 = find("secret_item_delete_sync"),
            let valueNew: @convention(c) (UnsafePointer<UInt8>, Int, UnsafePointer<CChar>) -> Pointer? = find(
                "secret_value_new"),
            let valueGet: @convention(c) (Pointer, UnsafeMutablePointer<Int>) -> UnsafePointer<UInt8>? = find(
                "secret_value_get"),
            let valueUnref: @convention(c) (Pointer) -> Void = find("secret_value_unref"),
            let stringHash = library.symbol("g_str_hash"), let stringEqual = library.symbol("g_str_equal")
        else { return nil }
        self.hashNew = hashNew
        self.hashInsert = hashInsert
        self.hashUnref = hashUnref
        self.listAppend = listAppend
        self.listFree = listFree
        self.quarkName = quarkName
        self.errorFree = errorFree
        self.unref = unref
        self.cancellableNew = cancellableNew
        self.cancel = cancel
        self.busGet = busGet
        self.busSetExitOnClose = busSetExitOnClose
        self.serviceGet = serviceGet
        self.serviceDisconnect = serviceDisconnect
        self.search = search
        self.store = store
        self.unlock = unlock
        self.collectionForAlias = collectionForAlias
        self.collectionIsLocked = collectionIsLocked
        self.itemIsLocked = itemIsLocked
        self.itemLoadSecret = itemLoadSecret
        self.itemGetSecret = itemGetSecret
        self.itemDelete = itemDelete
        self.valueNew = valueNew
        self.valueGet = valueGet
        self.valueUnref = valueUnref
        self.stringHash = stringHash
        self.stringEqual = stringEqual
    }
}
