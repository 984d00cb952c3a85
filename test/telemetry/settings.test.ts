/** OTEL_*: what turns traces and metrics on, and that a bad value is refused and not guessed. */
import { expect } from 'chai'
import fc from 'fast-check'
import { readConfig } from '../../src/config/config.ts'
import { secretsHiddenOf } from '../../src/present/without-secrets.ts'

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'

const BAD: readonly (readonly [string, string])[] = [
  ['OTEL_SDK_DISABLED', 'yes'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_TRACES_EXPORTER', 'otlp,console'],
  ['OTEL_METRICS_EXPORTER', 'prometheus'],
  [ENDPOINT, 'localhost:4318'],
  [ENDPOINT, 'http://'],
  [ENDPOINT, 'grpc://localhost:4317'],
  [ENDPOINT, 'http://user:secret@localhost:4318/?a=b'],
  [ENDPOINT, 'http://local host:4318'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'https://user:secret@[x'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', 'json'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b,x y=secret'],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'a=%zz'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=secret;b'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '-1'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
  ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/nowhere/ca.pem'],
  ['OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY', '/nowhere/key.pem'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name'],
  ['OTEL_RESOURCE_ATTRIBUTES', `a=${'x'.repeat(256)}`],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['OTEL_TRACES_SAMPLER_ARG', '1%'],
  ['OTEL_PROPAGATORS', 'b3'],
  ['OTEL_BSP_MAX_QUEUE_SIZE', '0'],
  ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ['OTEL_METRIC_EXPORT_INTERVAL', '0'],
  ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta'],
]

describe('the settings of OpenTelemetry', () => {
  it('send nothing where no collector and no exporter is named', () => {
    for (const env of [
      {},
      { OTEL_SERVICE_NAME: 'notes', OTEL_TRACES_SAMPLER: 'always_on' },
      { [ENDPOINT]: 'http://localhost:4318', OTEL_SDK_DISABLED: 'true' },
      { [ENDPOINT]: 'http://localhost:4318', OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' },
      // What is off has no faults.
      { [ENDPOINT]: 'nonsense', OTEL_SDK_DISABLED: 'TRUE' },
    ]) {
      expect(readConfig(env).telemetry, JSON.stringify(env)).to.equal(undefined)
    }
  })

  it('send both to a collector for both, and one where only one is named', () => {
    const of = (env: Record<string, string>) => {
      const { traces, metrics } = readConfig(env).telemetry ?? {}
      return [traces !== undefined, metrics !== undefined]
    }
    expect(of({ [ENDPOINT]: 'http://localhost:4318' })).to.deep.equal([true, true])
    expect(of({ OTEL_TRACES_EXPORTER: 'otlp' })).to.deep.equal([true, false])
    expect(of({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://localhost/v1/metrics?key=a' })).to.deep.equal([
      false,
      true,
    ])
    expect(of({ [ENDPOINT]: 'https://localhost', OTEL_METRICS_EXPORTER: 'none' })).to.deep.equal([true, false])
  })

  it('name the sampler as OpenTelemetry does', () => {
    const of = (OTEL_TRACES_SAMPLER: string, OTEL_TRACES_SAMPLER_ARG = '') => {
      const env = { [ENDPOINT]: 'http://x', OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }
      const { ratio, isParentBased } = readConfig(env).telemetry?.traces ?? {}
      return [ratio, isParentBased]
    }
    expect(of('')).to.deep.equal([1, true])
    expect(of('always_off')).to.deep.equal([0, false])
    expect(of('parentbased_always_on', '0.5')).to.deep.equal([1, true])
    expect(of('traceidratio', '0.01')).to.deep.equal([0.01, false])
    expect(of('parentbased_traceidratio', '.5')).to.deep.equal([0.5, true])
  })

  for (const [name, value] of BAD) {
    it(`${name}=${value.slice(0, 40)} is refused, naming ${name} and no secret`, () => {
      const error = refusalOf({ [name]: value })
      expect(error?.name).to.equal('ConfigError')
      expect(error?.message).to.match(new RegExp(`^${name} .*; `))
      expect(error?.message).to.not.include('secret')
    })
  }

  it('are taken, or refused by their name, whatever somebody writes', () => {
    const names = [...new Set(BAD.map(([name]) => name))]
    const value = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom('http://', 'a', '=', ',', '%', '1', '.', ' ', ';', '/') }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...names), value, (name, text) => {
        const error = refusalOf({ [name]: text })
        if (error) expect(error.message).to.match(new RegExp(`^${name} `))
      }),
      { numRuns: 500 },
    )
  })

  it('take headers with a base64 text, and hide it in what is printed', () => {
    const basic = 'dXNlcjpzZWNyZXQtcGFzc3dvcmQtMTIzNDU2Nzg='
    const env = { [ENDPOINT]: 'http://x', OTEL_EXPORTER_OTLP_HEADERS: `authorization=Basic ${basic},x-team=a%2Cb` }
    expect(readConfig(env).telemetry).to.be.an('object')
    expect(secretsHiddenOf(env)(`said ${basic}`)).to.not.include(basic.slice(0, 20))
  })
})

function refusalOf(environment: Readonly<Record<string, string>>): Error | undefined {
  try {
    readConfig(environment)
    return undefined
  } catch (error) {
    return error as Error
  }
}
