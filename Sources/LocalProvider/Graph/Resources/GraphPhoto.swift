import LodgePlatform
import StrictJSON

// Photos of users.
extension GraphResources {
    static let photoSizes = [48, 64, 96, 120, 240, 360, 432, 504, 648]

    private enum Photo {
        case picture
        case noMailbox
        case none
        /// No photo, but the description of one transparent pixel.
        case point
    }

    private func photo(_ index: Int) -> Photo {
        if contents[index].mail == nil { return .noMailbox }
        switch index % 8 {
        case 3: return .none
        case 7: return .point
        default: return .picture
        }
    }

    /// Responds to `photo`, `photo/$value`, `photos`, `photos/SIZE` and `photos/SIZE/$value`.
    func photo(of index: Int, _ rest: [String], _ request: GraphRequest) throws(GraphFailure) -> GraphResponse {
        let kind = photo(index)
        if kind == .noMailbox { throw .noMailbox }
        var parts = rest.dropFirst()
        let isList = rest.first?.lowercased() == "photos"
        if isList, parts.isEmpty {
            let photos =
                kind == .picture ? Self.photoSizes.map { JSONValue.object(description(index, $0, request)) } : []
            return .list(request.context("users('\(contents[index].id)')/photos") + ["value": .array(photos)])
        }
        var size = 648
        if isList, let name = parts.first {
            let halves = name.lowercased().split(separator: "x")
            guard halves.count == 2, halves[0] == halves[1], let side = Int(halves[0]),
                Self.photoSizes.contains(side)
            else { throw GraphFailure.noPhoto }
            size = side
            parts = parts.dropFirst()
        }
        let isContent = parts.first?.lowercased() == "$value"
        guard parts.count == (isContent ? 1 : 0) else { throw .segment(parts.first ?? "") }
        switch kind {
        case .picture:
            if isContent { return .content(Data(Picture.png(of: contents[index].id, side: size)), type: "image/png") }
            return .json(description(index, size, request))
        case .point where !isContent:
            return .json([
                "@odata.context": .string(Self.context(index, contents, request)),
                "@odata.id": .string("\(request.base)/users('\(contents[index].id)')/photo"),
                "@odata.mediaContentType": "image/gif", "@odata.mediaEtag": "", "id": "1x1", "width": 1, "height": 1,
            ])
        default: throw GraphFailure.noPhoto
        }
    }

    private static func context(_ index: Int, _ contents: DirectoryContents, _ request: GraphRequest) -> String {
        let isMe = request.path.lowercased().hasPrefix("/me/")
        return "\(request.base)/$metadata#" + (isMe ? "Me" : "users('\(contents[index].id)')") + "/photo/$entity"
    }

    private func description(_ index: Int, _ side: Int, _ request: GraphRequest) -> JSONObject {
        let id = contents[index].id
        return [
            "@odata.context": .string(Self.context(index, contents, request)),
            "@odata.id": .string("\(request.base)/users('\(id)')/photo"), "@odata.mediaContentType": "image/png",
            "@odata.mediaEtag": .string("\"\(id.prefix(8).uppercased())\""), "id": .string("\(side)x\(side)"),
            "width": .integer(side), "height": .integer(side),
        ]
    }
}

/// Generated pictures: a symmetric two-color pattern, different for each identifier.
enum Picture {
    /// Returns a PNG file. See W3C Portable Network Graphics, third edition.
    static func png(of identifier: String, side: Int) -> [UInt8] {
        var seed: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in identifier.utf8 { seed = (seed ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let numbers = SplitMix64(seed: seed)
        let (pattern, color) = (numbers[0], numbers[1])
        // Rows of one-bit pixels, each after a filter byte of 0.
        let width = (side + 7) / 8
        var rows: [UInt8] = []
        rows.reserveCapacity((width + 1) * side)
        for y in 0..<side {
            rows.append(0)
            var row = [UInt8](repeating: 0, count: width)
            for x in 0..<side {
                let (cellX, cellY) = (x * 5 / side, y * 5 / side)
                let bit = cellY * 3 + min(cellX, 4 - cellX)
                if pattern >> UInt64(bit) & 1 == 1 { row[x / 8] |= 0x80 >> UInt8(x % 8) }
            }
            rows += row
        }
        let palette: [UInt8] = [
            0xF2, 0xF2, 0xF2, UInt8(color & 0x7F) + 32, UInt8(color >> 8 & 0x7F) + 32, UInt8(color >> 16 & 0x7F) + 32,
        ]
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += chunk("IHDR", bigEndian(UInt32(side)) + bigEndian(UInt32(side)) + [1, 3, 0, 0, 0])
        file += chunk("PLTE", palette)
        file += chunk("IDAT", stored(rows))
        file += chunk("IEND", [])
        return file
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian, Array.init) }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + content
        return bigEndian(UInt32(content.count)) + body + bigEndian(crc(body))
    }

    /// Returns a zlib stream of uncompressed blocks. See RFC 1950 and RFC 1951 section 3.2.4.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        var start = 0
        repeat {
            let end = min(bytes.count, start + 0xFFFF)
            let length = UInt16(end - start)
            stream.append(end == bytes.count ? 1 : 0)
            for number in [length, ~length] { stream += [UInt8(number & 0xFF), UInt8(number >> 8)] }
            stream += bytes[start..<end]
            start = end
        } while start < bytes.count
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        return stream + bigEndian(high << 16 | low)
    }

    private static let crcTable: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF) { crcTable[Int(($0 ^ UInt32($1)) & 0xFF)] ^ $0 >> 8 }
    }
}
