// Certificates for one test, made by openssl: an authority of our own, and what it and a stranger sign.

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface Certificates extends AsyncDisposable {
  readonly ca: string
  /** For localhost and 127.0.0.1. */
  readonly server: Certificate
  /** For another host name. */
  readonly elsewhere: Certificate
  /** For localhost, but its time is over. */
  readonly expired: Certificate
  /** What the receiver lets in. */
  readonly client: Certificate
  /** Signed by nobody that the receiver knows. */
  readonly stranger: Certificate
}

export async function makeCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'tailrace-certificates-'))
  const at = (name: string) => join(folder, name)
  const make = async (name: string, subject: string, ...extra: string[]): Promise<Certificate> => {
    const made = { cert: at(`${name}.pem`), key: at(`${name}.key`) }
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', made.key]
    await run('openssl', ['req', '-x509', ...key, '-subj', `/CN=${subject}`, '-out', made.cert, ...extra])
    return made
  }
  const authority = await make('ca', 'Test authority')
  const signed = ['-CA', authority.cert, '-CAkey', authority.key]
  const leaf = (name: string) => ['-addext', `subjectAltName=${name}`, '-addext', 'basicConstraints=critical,CA:FALSE']
  const here = leaf('DNS:localhost,IP:127.0.0.1')
  const [server, elsewhere, expired, client, stranger] = await Promise.all([
    make('server', 'localhost', ...signed, ...here),
    make('elsewhere', 'elsewhere.example', ...signed, ...leaf('DNS:elsewhere.example')),
    make('expired', 'localhost', ...signed, ...here),
    make('client', 'tailrace', ...signed, ...leaf('DNS:tailrace')),
    make('stranger', 'tailrace', ...leaf('DNS:tailrace')),
  ])
  // Signed once more, with an end in the past: `req -x509` only takes days to come.
  const request = at('expired.csr')
  await run('openssl', ['req', '-new', '-key', expired.key, '-subj', '/CN=localhost', '-out', request, ...here])
  const past = ['-req', '-in', request, '-out', expired.cert, '-days', '-1', '-copy_extensions', 'copyall']
  await run('openssl', ['x509', ...past, '-CA', authority.cert, '-CAkey', authority.key])
  return {
    ca: authority.cert,
    server,
    elsewhere,
    expired,
    client,
    stranger,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
    },
  }
}
