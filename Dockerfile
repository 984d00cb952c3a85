# The image serves what is mounted or copied into /app/policies and /app/schemas; data lives in the volume /data.
FROM node:26-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The dev dependency `node` only serves checkouts on machines with another Node; this image has the right one.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:26-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
RUN mkdir /data && chown node:node /data
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
# In a checkout `npm start` is the demo; here it is what the image runs, on the same volume.
RUN npm pkg set scripts.start="node bin/sallyport.js serve"
COPY bin ./bin
COPY policies ./policies
COPY schemas ./schemas
USER node
VOLUME /data
# The admin port answers within the container alone, unless ADMIN_HOST says otherwise (docs/operating.md).
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:3000/livez').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Not through npm, so that SIGTERM reaches the server and it drains.
CMD ["node", "bin/sallyport.js", "serve"]
