# The image serves what is mounted or copied into /app/policies and /app/schemas; data lives in the volume /data.
# It runs the sources, as a checkout does, so no compiler is installed. `.dockerignore` lists what a build can see.
# docs/operating.md tells how to run it.
FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
# No program reads them, and they are a third of all.
RUN node -e "for (const file of fs.globSync('node_modules/**/*.{map,d.ts,d.mts,d.cts}')) fs.rmSync(file)"
COPY scripts/compile-schemas.ts ./scripts/
COPY src ./src
RUN npm run -s compile-schemas
# In a checkout `npm start` is the demo; in the image it serves the same volume as CMD.
RUN npm pkg set scripts.start="node bin/sallyport.js serve"

FROM node:26-bookworm-slim
LABEL org.opencontainers.image.title="Sallyport" org.opencontainers.image.licenses="Apache-2.0"
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
# The user `node`, by number: Kubernetes can't see that a name is not root.
RUN mkdir /data && chown 1000:1000 /data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/package.json ./
COPY LICENSE ./
COPY bin ./bin
# What `policy check` says of its codes, and the shapes of files that commands read.
COPY docs ./docs
COPY src ./src
COPY policies ./policies
COPY schemas ./schemas
USER 1000:1000
VOLUME /data
EXPOSE 3000
# The admin port answers within the container alone, unless ADMIN_HOST says otherwise (docs/operating.md). It needs no
# rule of the policy, and answers also while decisions can't be recorded.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.ADMIN_PORT || 9090) + '/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
# Not through npm or a shell, so that SIGTERM reaches the server and it drains.
CMD ["node", "bin/sallyport.js", "serve"]
