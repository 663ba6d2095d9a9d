import type { WelcomePart } from '../welcome-part.ts'

/** Where the phones are and how one attaches, when `npm start` has a lab core beside the service. */
export const part: WelcomePart = {
  welcome: ({ url, token, curl, dataDir }) => {
    const { LAB_CORE_URL: address = '', LAB_CORE_COUNTED: counted } = process.env
    if (address === '') return { addresses: [], trial: [] }
    return {
      addresses: [
        `  lab core       ${address}  (a stand-in for core, radio and phones)`,
        ...(counted === undefined ? [] : [`  data           ${counted}`]),
      ],
      trial: [
        'A SIM, and a phone of the lab core that attaches with it (README.md, "The first ten minutes"):',
        `  BATCH=$(${curl} -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' ${url}/v1/sims -d '{}' | sed 's/.*"batch_id":"\\([^"]*\\)".*/\\1/')`,
        `  npm run -s svc -- sim export "$BATCH" --data-dir ${dataDir} --format json | npm run -s lab -- insert`,
        '',
      ],
    }
  },
}
