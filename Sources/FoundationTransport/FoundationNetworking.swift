// On Linux, URLSession is in a module of its own. On Darwin, it is in Foundation.

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking
#endif
