// The port through which work is traced: nobody but tracing.ts knows what becomes of it.

export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Adds to what is known of a span while its work is done. */
export type Note = (attributes: Attributes) => void

/** Does the work inside of a span; resolves and rejects as the work does. Attributes must not have a secret in them. */
export type Trace = <T>(name: string, attributes: Attributes, work: (note: Note) => Promise<T>) => Promise<T>
