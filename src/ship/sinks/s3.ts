// S3: one compressed object for each batch, in Amazon S3 or a store that speaks like it.

import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type * as AwsSdk from '@aws-sdk/client-s3'
import type {
  PutObjectCommandInput,
  S3Client,
  S3ClientConfig,
  ServerSideEncryption,
  StorageClass,
} from '@aws-sdk/client-s3'
import { TailraceError } from '../../errors.ts'
import { count, flag, oneOf, size, text } from '../../option.ts'
import { deadline } from '../deadline.ts'
import { isJson } from '../format.ts'
import { putHeaderLine, takeHeaderLine } from '../wire/header-line.ts'
import { httpSchema, openHttp, readHttpUrl, type HttpOptions } from '../http/exchange.ts'
import { isoTime } from '../iso-time.ts'
import { optionalModule } from '../optional-module.ts'
import { orAborted } from '../or-aborted.ts'
import { requireOptions } from '../required-options.ts'
import { s3Error } from '../wire/s3-errors.ts'
import { sdkRequests } from '../wire/sdk-requests.ts'
import { allTaken, defineSink, type SendContext, type Sink } from '../sink.ts'
import { lines } from '../stream/stream-framing.ts'
import { compileTemplate, plainName, type Fill } from '../template.ts'
import { readTls } from '../tls-options.ts'

export interface S3Options extends HttpOptions {
  readonly bucket: string
  readonly region: string
  readonly endpoint: string
  readonly pathStyle: boolean
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string
  readonly key: string
  readonly encryption: string
  readonly kmsKeyId: string
  readonly storageClass: string
  readonly bucketOwner: string
  readonly maxEvents: number
  readonly maxBytes: number
}

const encryptions = ['', 'AES256', 'aws:kms', 'aws:kms:dsse'] as const
const placeholders = ['tenant', 'stream', 'date', 'year', 'month', 'day', 'hour', 'id'] as const

export const s3 = defineSink<S3Options>({
  name: 's3',
  summary: 'Writes batches of events as compressed objects to Amazon S3 or a store that speaks like it.',
  confirms: 'The store answered that it has the whole object, and its checksum was right.',
  options: {
    bucket: text('Name of the bucket. It must exist.'),
    region: text(
      'Region of the bucket. Empty: what the environment says (AWS_REGION, profile); with endpoint us-east-1.',
    ),
    endpoint: text('URL of another store than Amazon’s, such as https://minio.example:9000. Empty: Amazon S3.'),
    pathStyle: flag('Whether the bucket is named in the path instead of in the host name; many other stores want it.'),
    accessKeyId: text('Access key. Empty: what the environment gives (variables, profile, web identity, role).'),
    secretAccessKey: text('Secret of the access key.', { sensitive: true }),
    sessionToken: text('Token of temporary credentials. Empty: none.', { sensitive: true }),
    key: text(
      'Names of objects. {id} is there once at least: it differs for any two batches, and is the same when one is written again. {tenant} and {stream} are those of the events; {date}, {year}, {month}, {day} and {hour} the time of the first event, in UTC. `.ndjson.gz` or `.log.gz` is added.',
      { default: 'tailrace/tenant={tenant}/stream={stream}/date={date}/hour={hour}/{id}' },
    ),
    encryption: oneOf(encryptions, '', 'How the store encrypts objects. Empty: as the bucket says.'),
    kmsKeyId: text('Key for aws:kms. Empty: the one that the bucket says.'),
    storageClass: text('Storage class, such as STANDARD_IA. Empty: STANDARD.'),
    bucketOwner: text('Account that the bucket must belong to. Empty: not checked.'),
    maxEvents: count(10_000, 'Highest number of events in an object.', 1),
    maxBytes: size('8mb', 'Highest number of bytes of events in an object, before compression.', '1kb', '256mb'),
    ...httpSchema,
  },
  limits: ({ maxEvents, maxBytes }) => ({ events: maxEvents, bytes: maxBytes }),
  // What the key is made of must not depend on when it is sent: written again, it must be the same object.
  frame() {
    return ({ time, tenant, stream }, encoded) => putHeaderLine({ time, tenant, stream }, encoded)
  },
  frameKey: () => '',
  open: (options) => openS3(options),
})

type Sdk = typeof AwsSdk

const sdkPackage = { sink: 's3', install: '@aws-sdk/client-s3@3.1169.0' }
const compress = promisify(gzip)

/** `load` imports the SDK: at the first use, for few destinations need it. */
export function openS3(options: S3Options, load = (): Promise<Sdk> => import('@aws-sdk/client-s3')): Sink {
  const key = readOptions(options)
  const where = `s3 ${options.bucket}${options.endpoint === '' ? '' : ` at ${new URL(options.endpoint).origin}`}`
  const secrets = [options.secretAccessKey, options.sessionToken]
  const requests = sdkRequests((url) => openHttp({ sink: 's3', url, options, secrets }))
  const closed = new AbortController()
  let opened: { readonly sdk: Sdk; readonly client: S3Client } | undefined

  async function connect(): Promise<{ readonly sdk: Sdk; readonly client: S3Client }> {
    const sdk = await optionalModule(sdkPackage, load)
    opened ??= {
      sdk,
      client: new sdk.S3Client({ ...clientConfig(options), requestHandler: { handle: requests.handle } }),
    }
    return opened
  }

  /** Bounds all of it: the SDK may ask others for credentials first, and takes no signal for that. */
  async function ask<T>(events: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const either = AbortSignal.any([signal, closed.signal])
    either.throwIfAborted()
    using limit = deadline(options.timeout, either)
    try {
      return await orAborted(work(limit.signal), limit.signal)
    } catch (error) {
      either.throwIfAborted()
      if (!limit.expired) throw s3Error(error, where, events)
      const message = `${where}: no answer within ${options.timeout} ms`
      throw new TailraceError('sink_timeout', message, { cause: error, inDoubt: true })
    }
  }

  return {
    async send(records, context, signal) {
      if (records.length === 0) return allTaken
      await ask(records.length, signal, async (abortSignal) => {
        const { sdk, client } = await connect()
        const object = await makeObject(records, context, key)
        await client.send(new sdk.PutObjectCommand({ ...object, ...placeOf(options) }), { abortSignal })
      })
      return allTaken
    },
    async look(signal) {
      const found = await ask(1, signal, async (abortSignal) => {
        const { sdk, client } = await connect()
        // Not HeadBucket: an answer to HEAD cannot say what is wrong.
        const request = client.send(new sdk.ListObjectsV2Command({ Bucket: options.bucket, MaxKeys: 1 }), {
          abortSignal,
        })
        return request.then(() => `${where}: the bucket is there`).catch(mayNotList)
      })
      return { findings: [found, ...requests.describe(), 'Whether objects may be written shows with the first.'] }
    },
    certificateExpires: () => requests.certificateExpires(),
    async [Symbol.asyncDispose]() {
      closed.abort(new TailraceError('sink_unreachable', `${where}: the destination was closed`, { inDoubt: true }))
      opened?.client.destroy()
      await requests[Symbol.asyncDispose]()
    },
  }

  /** Credentials that may write and nothing else are the best for this, so their want of more is no fault. */
  function mayNotList(error: unknown): string {
    if (!(error instanceof Error) || error.name !== 'AccessDenied') throw error
    return `${where}: our credentials may not list the bucket, which writing does not need`
  }
}

/** Throws `sink_misconfigured` for what cannot work. */
function readOptions(options: S3Options): Fill {
  requireOptions('s3', options, ['bucket'])
  if (options.endpoint !== '') readHttpUrl(options.endpoint, 's3', 'endpoint')
  readTls(options.tls)
  if ((options.accessKeyId === '') !== (options.secretAccessKey === '')) {
    throw new TailraceError('sink_misconfigured', 's3: accessKeyId and secretAccessKey are needed together')
  }
  if (options.kmsKeyId !== '' && !options.encryption.startsWith('aws:kms')) {
    throw new TailraceError('sink_misconfigured', 's3: kmsKeyId is for the encryption aws:kms')
  }
  const fill = compileTemplate({ text: options.key, known: placeholders, where: 's3: key' })
  if (options.key.includes('{id}')) return fill
  throw new TailraceError('sink_misconfigured', 's3: key needs {id}, or batches would overwrite one another')
}

function clientConfig(options: S3Options): S3ClientConfig {
  const { endpoint, region, accessKeyId, secretAccessKey, sessionToken } = options
  const token = sessionToken === '' ? {} : { sessionToken }
  const place = region || (endpoint === '' ? '' : 'us-east-1')
  return {
    maxAttempts: 1, // the queue tries again
    forcePathStyle: options.pathStyle,
    // Our own Content-MD5 instead: stores that are not Amazon's often refuse the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    ...(place === '' ? {} : { region: place }),
    ...(endpoint === '' ? {} : { endpoint }),
    ...(accessKeyId === '' ? {} : { credentials: { accessKeyId, secretAccessKey, ...token } }),
  }
}

type Place = Omit<PutObjectCommandInput, 'Key' | 'Body'>

function placeOf({ bucket, encryption, kmsKeyId, storageClass, bucketOwner }: S3Options): Place {
  return {
    Bucket: bucket,
    ...(encryption === '' ? {} : { ServerSideEncryption: encryption as ServerSideEncryption }),
    ...(kmsKeyId === '' ? {} : { SSEKMSKeyId: kmsKeyId }),
    ...(storageClass === '' ? {} : { StorageClass: storageClass as StorageClass }),
    ...(bucketOwner === '' ? {} : { ExpectedBucketOwner: bucketOwner }),
  }
}

async function makeObject(
  framed: readonly Uint8Array[],
  { sendId, contentType }: SendContext,
  key: Fill,
): Promise<Omit<PutObjectCommandInput, 'Bucket'>> {
  const parts = framed.map(takeHeaderLine)
  const content = lines(parts.map(({ record }) => record))
  const body = await compress(content)
  // With the content: two destinations may write the same batch to one bucket, each in its own format.
  const id = `${sendId}-${hash('sha256', content, 'hex').slice(0, 16)}`
  const { time, tenant, stream } = parts[0]?.header ?? {}
  const values = { ...timeParts(Number(time)), tenant: plainName(tenant), stream: plainName(stream), id }
  return {
    Key: `${key(values)}.${contentType === '' || isJson({ contentType }) ? 'ndjson' : 'log'}.gz`,
    Body: body,
    ContentLength: body.length,
    ContentMD5: hash('md5', body, 'base64'),
    ContentType: contentType || 'application/x-ndjson',
    ContentEncoding: 'gzip',
  }
}

function timeParts(unixMs: number): Record<'date' | 'year' | 'month' | 'day' | 'hour', string> {
  const time = isoTime(unixMs) ?? '1970-01-01T00'
  const [year = '', month = '', day = ''] = time.slice(0, 10).split('-')
  return { date: time.slice(0, 10), year, month, day, hour: time.slice(11, 13) }
}
