// From where on a value is a worry: the same numbers as in deploy/prometheus/tailrace.rules.yaml, which a test compares.

export interface Threshold {
  readonly warning: number
  readonly critical?: number
  /** Below is worse than above. */
  readonly falling?: true
}

export const watermarkAge: Threshold = { warning: 900, critical: 3_600 }
export const backlogShare: Threshold = { warning: 0.7, critical: 0.9 }
export const redisMemoryShare: Threshold = { warning: 0.7, critical: 0.8 }
export const requestShare: Threshold = { warning: 0.9 }
export const certificateDays: Threshold = { warning: 21, critical: 7, falling: true }
export const deadLetters: Threshold = { warning: 0 }
