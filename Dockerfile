# The daemon beside an external Redis (see deploy/compose.yaml). Runs the sources as they are: Node.js strips
# the types. Works with a read-only root file system.

FROM docker.io/library/node:24.21.0-bookworm-slim AS dependencies
# no: leave out what only the sinks s3 and kafka and tracing need, some 55 MB.
ARG EXTRAS=yes
WORKDIR /app
COPY package.json package-lock.json ./
# Without what is for one kind of processor: the image has its Node.js, and the rest are native speed-ups that
# nothing depends on.
RUN npm ci --omit=dev $([ "$EXTRAS" = yes ] || echo --omit=optional) --cpu=none --ignore-scripts --no-audit --no-fund

FROM docker.io/library/node:24.21.0-bookworm-slim
LABEL org.opencontainers.image.title="tailrace" \
      org.opencontainers.image.description="Carries security events from a web-application security service to your SIEM, and loses none." \
      org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production
# For commands that are run in a container: they find it without --config.
ENV TAILRACE_CONFIG=/etc/tailrace/tailrace.yaml
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY . .
# The user `node`, by number: Kubernetes' runAsNonRoot cannot look up names.
USER 1000:1000
EXPOSE 9464
STOPSIGNAL SIGTERM
# Assumes the default http.port; inside the container, loopback is always among what is listened on.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:9464/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Bounds the young generation: left to itself, V8 takes some 100 MB more for the same work.
ENTRYPOINT ["node", "--max-semi-space-size=16", "/app/src/main.ts"]
CMD ["run"]
