// What we use of a package that comes without types.

declare module 's3rver' {
  import type { Server } from 'node:http'

  export default class S3rver {
    readonly httpServer: Server
    constructor(options: {
      address: string
      port: number
      silent: boolean
      directory: string
      configureBuckets: { name: string }[]
    })
    run(): Promise<{ port: number }>
    close(): Promise<void>
  }
}
