import Platform

/// The functions of libjpeg-turbo that read a JPEG, loaded when one is to be shown: the program also runs without the library.
///
/// [TurboJPEG](https://libjpeg-turbo.org/Documentation/Documentation)
struct TurboJPEG {
    private typealias Pointer = UnsafeMutableRawPointer
    private typealias Size = UnsafeMutablePointer<Int32>
    private typealias Header =
        @convention(c) (Pointer, UnsafePointer<UInt8>, CUnsignedLong, Size, Size, Size, Size) -> Int32
    private typealias Decompress =
        @convention(c) (
            Pointer, UnsafePointer<UInt8>, CUnsignedLong, UnsafeMutablePointer<UInt8>, Int32, Int32, Int32, Int32, Int32
        ) -> Int32

    private let begin: @convention(c) () -> Pointer?
    private let header: Header
    private let decompress: Decompress
    private let end: @convention(c) (Pointer) -> Int32

    /// The name under which the library is found.
    #if os(macOS)
        static let fileName = "libturbojpeg.0.dylib"
    #else
        static let fileName = "libturbojpeg.so.0"
    #endif
    /// The largest side of a picture that is read, in points. Graph's photos have at most 648.
    private static let maximumSide: Int32 = 4096

    /// The library; nil when it is not installed, or lacks a function.
    init?() {
        guard let library = dlopen(Self.fileName, RTLD_NOW | RTLD_LOCAL) else { return nil }
        // The cast is sound where the type is that of the C function: they are written as turbojpeg.h has it.
        func find<Function>(_ name: String) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let begin: @convention(c) () -> Pointer? = find("tjInitDecompress"),
            let header: Header = find("tjDecompressHeader3"), let decompress: Decompress = find("tjDecompress2"),
            let end: @convention(c) (Pointer) -> Int32 = find("tjDestroy")
        else { return nil }
        (self.begin, self.header, self.decompress, self.end) = (begin, header, decompress, end)
    }

    func pixels(_ data: Data) -> Pixels? {
        guard let handle = begin() else { return nil }
        defer { _ = end(handle) }
        let jpeg = [UInt8](data)
        var (width, height, sampling, space): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        guard header(handle, jpeg, CUnsignedLong(jpeg.count), &width, &height, &sampling, &space) == 0,
            (1...Self.maximumSide).contains(width), (1...Self.maximumSide).contains(height)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(width) * Int(height) * 3)
        // 0 is TJPF_RGB; a pitch of 0 is three bytes a point.
        guard decompress(handle, jpeg, CUnsignedLong(jpeg.count), &bytes, width, 0, height, 0, 0) == 0 else {
            return nil
        }
        return Pixels(width: Int(width), height: Int(height), bytes: bytes)
    }
}
