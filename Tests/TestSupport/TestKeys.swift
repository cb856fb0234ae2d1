/// Keys for tests only. They protect nothing.
package enum TestKeys {
    /// A private RSA key in PKCS #8.
    package static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCzfTFbUfGX793F
        CtCVl6ddHUH/lue7ujrxxXBL+1Elw0+oxyQhiejrHLlBJz9tK0wAX9O1uKyH/GOu
        YjxxdMFyBzaCeXzBIblNF67aCooF5zH9CRkBKNoAJI5HuKBZFm1DRSrXqHHzOj+f
        g5U//OyohHmGjC1XNoRNqB/vRVQC4PLoq5AU0QBBivn9LvtM01Xxi4u5TESNYn+e
        /gKsnytelPPsUAMn62IKIzZYmwIOE09zCPIXMP+U48FTfGicpAh4W+mghCog02lF
        IyFPXQBLQ3VfobzXltoh6oo3825+J45wJSVXqWcd+qSRIzQFruMCR4uN3qXCIkZs
        3L0CelghAgMBAAECgf85CdwPLBuq0ZZUY/sClZwM+437jGi3F5fVbtDqnpNY9nzw
        Ziyp2Har3t9tuakd444nOmeXe+PHTh0QJ15yHRceFDlZs/bIat3gDT99Qa+CkZI2
        pDIebyoKfwy2RaVUS/Q0jAvw6u6zvgA/3QB4LgbgPjWvflnlOWeZh7211lzJTo7O
        gVJPmm1Qi5nJWtAX7PJ1mXjMvhI5kXRCiewLNBJEqm54a4InurOHLrE6kpuOrJqF
        +ewKOYc6zRJnXWKtpSBv2uh2eDa0MIFEi78SNXA7Yrj9srKCZiomttppRghazGc+
        nlMvZ1ImPSGzggw2/d2ZQ3QTecqhE8XEaGQv+cECgYEA5AgFVxkVtJ71zGZvhsFw
        VOuomFZbHK3f/UC7E/pO3UUDmD0QybOGLR7b6lLPE6/zKsq4otJvOLO2KvO255/c
        fBfB2qlaLoa/2QywJk2wMndkFSvgcW89DQxJHKd/2JMpk9Ay2h94/k5jnnrpL1hW
        YvVswTnhE7aeYfxjOn3AouECgYEAyYD8xODeeGtL1QKI9uOVg6ePSqHxWX7wnZA7
        vtOfUh4PMz+2815Vj/He68mr1vAEprrJpFnPYD8L6xh9oZpaQ3hBJ0y37UyiLUS8
        iGnElOrHlOJsBjROohkkju4BTzLpFf9fa2nmnhZarVvr7A3wHpbP/ueNTeTSS8SI
        hFNNnUECgYEA0sGHDgUlRpdU3uIeWhIXXKWiYYoPE+awi0V0ovZKRcAvnllyVroS
        XUmUQHLg6XVJ7lcHZ5XPLj0LNY+jkVjzU84xYYP80dvBHT7Y384V987ZNagj/TOu
        3YxpVo6JXwZE+1UGawuDrKeO8z7uns+qqDPlnIF+QdYbdLzsiXcIwIECgYAiMLCy
        9zTIWexUCEoVGiiUXioCD9hTxyYslfyNNHskA9WwbG8ufCMoeXHJsD5oCfHAGJF+
        QX7eZdQv38fxU69dI1pqwKm0qfwakj8rJkckvXF/4atSoi11c66wUdIHDixefyZB
        o4Zt7H0WTTKKqxLDHfPM3J0tSlYkZQSE712MAQKBgQC6bxbE4d7Fg3pBDrW7LYBY
        mkIX4v86YcwBTaNi/0/g9T8tVhgUqaKnJkUhdbUcda83aod5FqYiZN6OrCDCWzF0
        yKVAA4ZRevBHlUt/VQauNvz48Y1J5WDMbsSAr6IAtS0lkgITD043Nhhcwk5FWOcq
        B0cEdm/zzk7R1ofVS5o3UA==
        -----END PRIVATE KEY-----
        """
}
