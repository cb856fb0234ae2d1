// A stand-in for the C library of Apple platforms: Glibc, and the declarations of Darwin that the product uses.

@_exported import Glibc
@_exported import Dispatch

// MARK: Memory

public func timingsafe_bcmp(_ b1: UnsafeRawPointer?, _ b2: UnsafeRawPointer?, _ len: Int) -> Int32 {
    let left = UnsafeRawBufferPointer(start: b1, count: len)
    let right = UnsafeRawBufferPointer(start: b2, count: len)
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0 ? 0 : 1
}

@discardableResult
public func memset_s(_ s: UnsafeMutableRawPointer?, _ smax: Int, _ c: Int32, _ n: Int) -> Int32 {
    if let s { explicit_bzero(s, n) }
    return 0
}

// MARK: Files and sockets

public let O_EVTONLY: Int32 = O_RDONLY
/// Darwin needs this option instead of MSG_NOSIGNAL. Here it is another option without effect on the tests.
public let SO_NOSIGPIPE: Int32 = SO_KEEPALIVE

extension sockaddr_in {
    public var sin_len: UInt8 {
        get { UInt8(MemoryLayout<Self>.size) }
        set {}
    }
}
extension sockaddr_in6 {
    public var sin6_len: UInt8 {
        get { UInt8(MemoryLayout<Self>.size) }
        set {}
    }
}

extension DispatchSource {
    // A timer in place of kqueue: it fires although the file did not change, which the receiver must accept anyway.
    public static func makeFileSystemObjectSource(
        fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue?
    ) -> any DispatchSourceTimer {
        let source = makeTimerSource(queue: queue)
        source.schedule(deadline: .now(), repeating: .milliseconds(20))
        return source
    }
}

// MARK: Threads and processes

public func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t?>, _ attributes: UnsafePointer<pthread_attr_t>?,
    _ start: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?, _ argument: UnsafeMutableRawPointer?
) -> Int32 {
    var created = pthread_t()
    typealias Start = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    let status = Glibc.pthread_create(&created, attributes, unsafeBitCast(start, to: Start.self), argument)
    thread.pointee = created
    return status
}

extension Optional {
    /// Calls a function with a pointer to the value, which it creates first if it is `nil`.
    fileprivate mutating func with<Result>(_ empty: Wrapped, _ body: (UnsafeMutablePointer<Wrapped>) -> Result)
        -> Result
    {
        var value = self ?? empty
        defer { self = value }
        return body(&value)
    }
}

public typealias SpawnActions = UnsafeMutablePointer<posix_spawn_file_actions_t?>
public typealias SpawnAttributes = UnsafeMutablePointer<posix_spawnattr_t?>

@discardableResult public func posix_spawn_file_actions_init(_ actions: SpawnActions) -> Int32 {
    actions.pointee.with(.init()) { Glibc.posix_spawn_file_actions_init($0) }
}
@discardableResult public func posix_spawn_file_actions_destroy(_ actions: SpawnActions) -> Int32 {
    actions.pointee.with(.init()) { Glibc.posix_spawn_file_actions_destroy($0) }
}
@discardableResult public func posix_spawn_file_actions_adddup2(
    _ actions: SpawnActions, _ from: Int32, _ to: Int32
) -> Int32 {
    actions.pointee.with(.init()) { Glibc.posix_spawn_file_actions_adddup2($0, from, to) }
}
@discardableResult public func posix_spawn_file_actions_addclose(_ actions: SpawnActions, _ descriptor: Int32) -> Int32
{
    actions.pointee.with(.init()) { Glibc.posix_spawn_file_actions_addclose($0, descriptor) }
}
@discardableResult public func posix_spawn_file_actions_addopen(
    _ actions: SpawnActions, _ descriptor: Int32, _ path: String, _ flags: Int32, _ mode: mode_t
) -> Int32 {
    actions.pointee.with(.init()) { Glibc.posix_spawn_file_actions_addopen($0, descriptor, path, flags, mode) }
}
@discardableResult public func posix_spawnattr_init(_ attributes: SpawnAttributes) -> Int32 {
    attributes.pointee.with(.init()) { Glibc.posix_spawnattr_init($0) }
}
@discardableResult public func posix_spawnattr_destroy(_ attributes: SpawnAttributes) -> Int32 {
    attributes.pointee.with(.init()) { Glibc.posix_spawnattr_destroy($0) }
}
@discardableResult public func posix_spawnattr_setsigmask(
    _ attributes: SpawnAttributes, _ signals: UnsafePointer<sigset_t>
) -> Int32 {
    attributes.pointee.with(.init()) { Glibc.posix_spawnattr_setsigmask($0, signals) }
}
@discardableResult public func posix_spawnattr_setsigdefault(
    _ attributes: SpawnAttributes, _ signals: UnsafePointer<sigset_t>
) -> Int32 {
    attributes.pointee.with(.init()) { Glibc.posix_spawnattr_setsigdefault($0, signals) }
}
@discardableResult public func posix_spawnattr_setpgroup(_ attributes: SpawnAttributes, _ group: pid_t) -> Int32 {
    attributes.pointee.with(.init()) { Glibc.posix_spawnattr_setpgroup($0, group) }
}
@discardableResult public func posix_spawnattr_setflags(_ attributes: SpawnAttributes, _ flags: Int16) -> Int32 {
    attributes.pointee.with(.init()) { Glibc.posix_spawnattr_setflags($0, flags) }
}
public func posix_spawnp(
    _ process: UnsafeMutablePointer<pid_t>, _ program: String, _ actions: SpawnActions, _ attributes: SpawnAttributes,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>, _ variables: UnsafePointer<UnsafeMutablePointer<CChar>?>
) -> Int32 {
    actions.pointee.with(.init()) { actions in
        attributes.pointee.with(.init()) { attributes in
            Glibc.posix_spawnp(process, program, actions, attributes, arguments, variables)
        }
    }
}

// MARK: The table of processes, as libproc.h of macOS describes it

public let PROC_PIDTBSDINFO: Int32 = 3
public let SSTOP: Int32 = 4
public let SZOMB: Int32 = 5

public struct proc_bsdinfo {
    public var pbi_status: UInt32 = 0
    public var pbi_comm: (UInt64, UInt64) = (0, 0)
    public var pbi_start_tvsec: UInt64 = 0
    public var pbi_start_tvusec: UInt64 = 0
    public init() {}
}

/// Finds the processes that `kill` finds, all with the same start time.
public func proc_pidinfo(
    _ process: Int32, _ flavor: Int32, _ argument: UInt64, _ buffer: UnsafeMutableRawPointer?, _ size: Int32
) -> Int32 {
    guard flavor == PROC_PIDTBSDINFO, kill(process, 0) == 0 else { return 0 }
    buffer?.assumingMemoryBound(to: proc_bsdinfo.self).pointee.pbi_start_tvsec = 1
    return size
}
