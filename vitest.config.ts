import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // More than there are cores on the smallest machine: most tests wait for processes and sockets.
    maxWorkers: 4,
    reporters: process.env['CI'] ? ['default'] : ['default'],
    // Node's own loader: the tests run what production runs, by type stripping.
    experimental: { viteModuleRunner: false },
  },
})
