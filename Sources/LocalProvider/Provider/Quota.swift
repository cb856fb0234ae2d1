/// The used part of an application's quota in ten seconds.
struct QuotaWindow: Sendable {
    private static let seconds = 10
    /// The start of the window in seconds since 1970.
    private var start: Int
    private var used = 0

    init(start: Int) { self.start = start }

    /// Deducts units of the quota, unless too few remain.
    mutating func charge(_ units: Int, of quota: Int, now: Int) -> QuotaCharge {
        var charge = QuotaCharge(units: units)
        if now - start >= Self.seconds || now < start { self = QuotaWindow(start: now) }
        if used + units > quota {
            charge.retryAfter = max(1, start + Self.seconds - now)
        } else {
            used += units
        }
        charge.percentage = used * 100 / quota
        return charge
    }
}

/// The cost of a request and the remaining quota, for the fields of its response.
struct QuotaCharge: Sendable, Equatable {
    var units: Int
    /// The used part of the quota in percent, or `nil` without a quota.
    var percentage: Int?
    /// The number of seconds until the quota is available again, or `nil` if the request is allowed.
    var retryAfter: Int?

    /// The used part of the quota, such as `0.85`, which the service reports from 0.8 on.
    var usedPart: String? {
        guard let percentage, percentage >= 80 else { return nil }
        let digits = String(percentage % 100)
        return "\(percentage / 100)." + (digits.utf8.count < 2 ? "0" : "") + digits
    }
}
