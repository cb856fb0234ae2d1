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
    static let fileName = platformValue(linux: "libturbojpeg.so.0", darwin: "libturbojpeg.0.dylib")
    /// The largest side of a picture that is read, in points. Graph's photos have at most 648.
    private static let maximumSide: Int32 = 4096

    /// Loads the library.
    init() throws(DynamicLibrary.Missing) {
        let library = try DynamicLibrary(fileNames: [Self.fileName])
        begin = try library.function("tjInitDecompress")
        header = try library.function("tjDecompressHeader3")
        decompress = try library.function("tjDecompress2")
        end = try library.function("tjDestroy")
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
