/// A picture as pixels: red, green, blue, row by row.
struct Pixels: Equatable, Sendable {
    var width: Int
    var height: Int
    var bytes: [UInt8]

    /// Returns the largest size with the same proportions that fits; at least one pixel.
    func fitted(into width: Int, _ height: Int) -> (width: Int, height: Int) {
        guard self.width > 0, self.height > 0 else { return (1, 1) }
        if self.width * height > self.height * width {
            return (max(1, width), max(1, self.height * width / self.width))
        }
        return (max(1, self.width * height / self.height), max(1, height))
    }

    /// Returns the scaled picture. Each pixel is the mean of its source pixels.
    func scaled(to newWidth: Int, _ newHeight: Int) -> Pixels {
        if newWidth == width, newHeight == height { return self }
        var scaled = [UInt8](repeating: 0, count: newWidth * newHeight * 3)
        for row in 0..<newHeight {
            let top = row * height / newHeight
            let bottom = max(top + 1, (row + 1) * height / newHeight)
            for column in 0..<newWidth {
                let left = column * width / newWidth
                let right = max(left + 1, (column + 1) * width / newWidth)
                for channel in 0..<3 {
                    var sum = 0
                    for y in top..<bottom {
                        for x in left..<right { sum += Int(bytes[(y * width + x) * 3 + channel]) }
                    }
                    let mean = sum / ((bottom - top) * (right - left))
                    scaled[(row * newWidth + column) * 3 + channel] = UInt8(mean)
                }
            }
        }
        return Pixels(width: newWidth, height: newHeight, bytes: scaled)
    }

    subscript(column: Int, row: Int) -> (red: UInt8, green: UInt8, blue: UInt8) {
        let position = (row * width + column) * 3
        return (bytes[position], bytes[position + 1], bytes[position + 2])
    }
}
