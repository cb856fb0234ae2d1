import LodgePlatform

/// The functions of libsecret and of its dependencies GLib and GIO. No function is variadic.
///
/// See [libsecret](https://gnome.pages.gitlab.gnome.org/libsecret/).
struct LibSecret {
    typealias Pointer = UnsafeMutableRawPointer
    /// The address at which a function stores an object, usually its error: a `GError *`.
    typealias ErrorPointer = UnsafeMutablePointer<Pointer?>

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
    let busGet: @convention(c) (Int32, Pointer?, ErrorPointer) -> Pointer?
    let busSetExitOnClose: @convention(c) (Pointer, Int32) -> Void
    // libsecret.
    let serviceGet: @convention(c) (Int32, Pointer?, ErrorPointer) -> Pointer?
    let serviceDisconnect: @convention(c) () -> Void
    let search: @convention(c) (Pointer, Pointer?, Pointer, Int32, Pointer?, ErrorPointer) -> Pointer?
    typealias Store =
        @convention(c) (
            Pointer, Pointer?, Pointer, UnsafePointer<CChar>, UnsafePointer<CChar>, Pointer, Pointer?, ErrorPointer
        ) -> Int32
    let store: Store
    let unlock: @convention(c) (Pointer, Pointer?, Pointer?, ErrorPointer, ErrorPointer) -> Int32
    let collectionForAlias: @convention(c) (Pointer, UnsafePointer<CChar>, Int32, Pointer?, ErrorPointer) -> Pointer?
    let collectionIsLocked: @convention(c) (Pointer) -> Int32
    let itemIsLocked: @convention(c) (Pointer) -> Int32
    let itemLoadSecret: @convention(c) (Pointer, Pointer?, ErrorPointer) -> Int32
    let itemGetSecret: @convention(c) (Pointer) -> Pointer?
    let itemDelete: @convention(c) (Pointer, Pointer?, ErrorPointer) -> Int32
    let valueNew: @convention(c) (UnsafePointer<UInt8>, Int, UnsafePointer<CChar>) -> Pointer?
    let valueGet: @convention(c) (Pointer, UnsafeMutablePointer<Int>) -> UnsafePointer<UInt8>?
    let valueUnref: @convention(c) (Pointer) -> Void
    // These two are only passed to `hashNew`.
    let stringHash: Pointer
    let stringEqual: Pointer

    /// The file name of the library.
    static let fileName = "libsecret-1.so.0"

    /// Creates the functions by loading the library.
    ///
    /// Functions of GLib and GIO are found through libsecret, which depends on them.
    init() throws(DynamicLibrary.Missing) {
        let library = try DynamicLibrary(fileNames: [Self.fileName])
        hashNew = try library.function("g_hash_table_new")
        hashInsert = try library.function("g_hash_table_insert")
        hashUnref = try library.function("g_hash_table_unref")
        listAppend = try library.function("g_list_append")
        listFree = try library.function("g_list_free")
        quarkName = try library.function("g_quark_to_string")
        errorFree = try library.function("g_error_free")
        unref = try library.function("g_object_unref")
        cancellableNew = try library.function("g_cancellable_new")
        cancel = try library.function("g_cancellable_cancel")
        busGet = try library.function("g_bus_get_sync")
        busSetExitOnClose = try library.function("g_dbus_connection_set_exit_on_close")
        serviceGet = try library.function("secret_service_get_sync")
        serviceDisconnect = try library.function("secret_service_disconnect")
        search = try library.function("secret_service_search_sync")
        store = try library.function("secret_service_store_sync")
        unlock = try library.function("secret_service_unlock_sync")
        collectionForAlias = try library.function("secret_collection_for_alias_sync")
        collectionIsLocked = try library.function("secret_collection_get_locked")
        itemIsLocked = try library.function("secret_item_get_locked")
        itemLoadSecret = try library.function("secret_item_load_secret_sync")
        itemGetSecret = try library.function("secret_item_get_secret")
        itemDelete = try library.function("secret_item_delete_sync")
        valueNew = try library.function("secret_value_new")
        valueGet = try library.function("secret_value_get")
        valueUnref = try library.function("secret_value_unref")
        stringHash = try library.function("g_str_hash")
        stringEqual = try library.function("g_str_equal")
    }
}
