import LodgePlatform

/// The functions of libjpeg-turbo that decode a JPEG, loaded on first use. The program also runs without the library.
///
/// See [TurboJPEG](https://libjpeg-turbo.org/Documentation/Documentation).
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

    /// The file name of the library.
    static let fileName = platformValue(linux: "libturbojpeg.so.0", darwin: "libturbojpeg.0.dylib")
    /// The maximum width and height of a picture in pixels. Graph's photos have at most 648.
    private static let maximumSide: Int32 = 4096

    /// Creates the functions by loading the library.
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
        // 0 is TJPF_RGB; a pitch of 0 means three bytes for each pixel.
        guard decompress(handle, jpeg, CUnsignedLong(jpeg.count), &bytes, width, 0, height, 0, 0) == 0 else {
            return nil
        }
        return Pixels(width: Int(width), height: Int(height), bytes: bytes)
    }
}
