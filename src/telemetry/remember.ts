// States by what they are of, made when first heard of; bounded.

export interface Remembered<Ref, State> {
  of(ref: Ref): State
  forget(ref: Ref): void
  all(): State[]
}

/** By reference, made when first seen. Beyond the bound a state is handed out that nobody will see. */
export function remember<Ref extends object, State>(most: number, make: (ref: Ref) => State): Remembered<Ref, State> {
  const states = new Map<string, State>()
  const keyOf = (ref: Ref): string =>
    'tenant' in ref && 'stream' in ref ? `${String(ref.tenant)}/${String(ref.stream)}` : JSON.stringify(ref)
  return {
    of(ref) {
      const key = keyOf(ref)
      const known = states.get(key)
      if (known) return known
      const made = make(ref)
      if (states.size < most) states.set(key, made)
      return made
    },
    forget: (ref) => void states.delete(keyOf(ref)),
    all: () => [...states.values()],
  }
}
