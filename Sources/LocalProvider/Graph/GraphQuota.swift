/// How much of its quota an application used in ten seconds.
struct QuotaWindow: Sendable, Equatable {
    static let seconds = 10
    /// Seconds since 1970.
    var start: Int
    var used: Int
}

/// What a request costs and what is left, for the fields of its answer.
struct QuotaCharge: Sendable, Equatable {
    var units: Int
    /// The used part of the quota in hundredths; nil without a quota.
    var percentage: Int?
    /// Seconds until the quota is whole again; nil when the request may be answered.
    var retryAfter: Int?
}

extension GraphRequest {
    /// Resource units of identity resources: two for a list of users, one for the rest; one less with `$select`, one less
    /// with `$top` below 20, one more with `$expand`, one at least.
    var resourceUnits: Int {
        let segments = path.split(separator: "/")
        var units = segments.count == 1 && segments[0].lowercased() == "users" ? 2 : 1
        for field in FormFields(parsing: query ?? "")?.fields ?? [] {
            switch field.name.lowercased() {
            case "$select", "select": units -= 1
            case "$top", "top": if let top = Int(field.value), top < 20 { units -= 1 }
            case "$expand", "expand": units += 1
            default: break
            }
        }
        return max(1, units)
    }
}

extension ProviderState {
    /// Takes the units of a request from the application's quota.
    func charge(_ request: GraphRequest, to application: String) -> QuotaCharge {
        var charge = QuotaCharge(units: request.resourceUnits)
        guard let quota = configuration.quota.map({ max(1, $0) }) else { return charge }
        let now = now
        return state.withLock { state in
            var window = state.quotas[application] ?? QuotaWindow(start: now, used: 0)
            if now - window.start >= QuotaWindow.seconds || now < window.start {
                window = QuotaWindow(start: now, used: 0)
            }
            if window.used + charge.units > quota {
                charge.retryAfter = max(1, window.start + QuotaWindow.seconds - now)
            } else {
                window.used += charge.units
            }
            charge.percentage = window.used * 100 / quota
            state.quotas[application] = window
            return charge
        }
    }
}
