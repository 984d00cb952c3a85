/** What is counted before the library of metrics is loaded isn't lost. */
import { expect } from 'chai'
import { createMetrics } from '../../src/request/metrics.ts'

const OBSERVED = { method: 'GET', route: '/livez', status: 200, seconds: 0.001 }

describe('metrics before their library is loaded', () => {
  it('hold what was told meanwhile, once, and what is told afterwards', async () => {
    const metrics = createMetrics()
    metrics.observeRequest(OBSERVED)
    metrics.limiterState('degraded')
    metrics.policyActivated('first', 1_000_000)
    metrics.policyActivated('second', 2_000_000)
    metrics.watchPolicy(() => true)
    const loaded = Promise.all([metrics.text(), metrics.text()])
    metrics.observeRequest(OBSERVED)
    const [text] = await loaded
    expect(text).to.contain('sallyport_request_duration_seconds_count{method="GET",route="/livez",status="200"} 2')
    expect(text).to.contain('sallyport_limiter_degraded 1')
    expect(text).to.contain('sallyport_policy_degraded 1')
    expect(text).to.contain('sallyport_policy_info{revision="second"} 1').and.not.to.contain('revision="first"')
    expect(text).to.contain('sallyport_policy_activated_timestamp_seconds 2000\n')
    metrics.observeRequest(OBSERVED)
    expect(await metrics.text()).to.contain('route="/livez",status="200"} 3')
  })

  it('tell their kind of text before they are read', async () => {
    const metrics = createMetrics()
    expect(metrics.contentType).to.equal((await metrics.registry()).contentType)
  })

  it('load it by themselves when much has been told', async () => {
    const metrics = createMetrics()
    for (let told = 0; told < 1500; told++) metrics.observeRequest(OBSERVED)
    expect(await metrics.text()).to.contain('route="/livez",status="200"} 1500')
  })
})
