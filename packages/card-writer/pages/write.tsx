import {
  type AnswerOf,
  api,
  Button,
  Checkbox,
  Dialog,
  ErrorNotice,
  Field,
  FileField,
  may,
  Notice,
  nameOf,
  type Sim,
  saveFile,
  Time,
  t,
  toast,
  useAction,
  useQuery,
  useState,
} from '@steeple/console/kit'
import { ADM, admIn } from '../src/vendor-file.ts'

type Seen = AnswerOf<'POST', '/v1/cards/read'>

/** pySim takes seconds for a card, and more on a small box. */
const TIMEOUT_MS = 200_000

/** Offers to write a SIM on a card. */
export function Panel({ sim }: { readonly sim: Sim }) {
  const [isOpen, setOpen] = useState(false)
  if (sim.state === 'revoked') return null
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('card.write')}</Button>
      {isOpen ? <WriteDialog sim={sim} onClose={() => setOpen(false)} /> : null}
    </>
  )
}

function WriteDialog({ sim, onClose }: { readonly sim: Sim; readonly onClose: () => void }) {
  const hash = sim.imsi_sha256_12
  const known = useQuery('/v1/cards', { query: { imsi: hash } })
  const written = known.data?.cards[0]
  const read = useAction(() => api.post('/v1/cards/read', { timeoutMs: TIMEOUT_MS }))
  const [seen, setSeen] = useState<Seen | undefined>(undefined)
  const look = async (): Promise<void> => {
    setSeen(undefined)
    const answer = await read.run()
    if (answer?.ok === true) setSeen(answer.data)
  }
  return (
    <Dialog isOpen title={t('card.write.title', { name: nameOf(sim) })} onClose={onClose}>
      <div class="stack">
        {written === undefined || written.written_at === null ? null : (
          <Notice tone="warn">
            {t('card.write.done.before', { end: written.iccid_last4 ?? '' })} <Time at={written.written_at} />
          </Notice>
        )}
        <p>
          {t('card.write.put')} <a href="/docs/how-to/write-cards.html">{t('card.write.docs')}</a>
        </p>
        {read.error === undefined ? null : <ErrorNotice error={read.error} />}
        <div class="actions">
          <Button
            kind={seen === undefined ? 'primary' : 'quiet'}
            isBusy={read.isBusy}
            onClick={() => void look()}
          >
            {t('card.write.read')}
          </Button>
        </div>
        {seen === undefined ? null : (
          <WriteForm
            key={seen.iccid}
            hash={hash}
            seen={seen}
            isUsed={
              (written !== undefined && written.written_at !== null) ||
              (seen.imsi_sha256_12 !== null && seen.imsi_sha256_12 !== hash)
            }
            onDone={onClose}
          />
        )}
        {may('sim:admin') ? <ScriptOffer hash={hash} /> : null}
      </div>
    </Dialog>
  )
}

function WriteForm({
  hash,
  seen,
  isUsed,
  onDone,
}: {
  readonly hash: string
  readonly seen: Seen
  /** Whether SIM or card may be in use already. */
  readonly isUsed: boolean
  readonly onDone: () => void
}) {
  const [adm, setAdm] = useState('')
  const [again, setAgain] = useState(false)
  const [isMissing, setMissing] = useState(false)
  const write = useAction(() =>
    api.post('/v1/cards/write', {
      body: { imsi: hash, iccid: seen.iccid, adm, again },
      timeoutMs: TIMEOUT_MS,
    }),
  )
  const take = async (file: File | undefined): Promise<void> => {
    const found = file === undefined ? undefined : admIn(await file.text(), seen.iccid)
    setMissing(file !== undefined && found === undefined)
    if (found !== undefined) setAdm(found)
  }
  const send = async (): Promise<void> => {
    if ((await write.run())?.ok !== true) return
    toast({ text: t('card.write.done') })
    onDone()
  }
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <p>{t('card.write.seen', { model: seen.model, end: seen.iccid.slice(-4) })}</p>
      {seen.imsi_sha256_12 === null || seen.imsi_sha256_12 === hash ? null : (
        <p>{t('card.write.other', { hash: seen.imsi_sha256_12 })}</p>
      )}
      <Field
        label={t('card.write.adm')}
        help={t('card.write.adm.help')}
        type="password"
        value={adm}
        onInput={(text) => setAdm(text.trim())}
      />
      <FileField
        label={t('card.write.csv')}
        help={t('card.write.csv.help')}
        accept=".csv,.txt"
        isRequired={false}
        onChoose={(file) => void take(file)}
      />
      {isMissing ? <Notice tone="warn">{t('card.write.csv.missing')}</Notice> : null}
      {isUsed ? (
        <>
          <Checkbox label={t('card.write.again')} isChecked={again} onChange={setAgain} />
          <p class="fine">{t('card.write.again.help')}</p>
        </>
      ) : null}
      {write.error === undefined ? null : <ErrorNotice error={write.error} />}
      {write.isBusy ? <p role="status">{t('card.write.busy')}</p> : null}
      <Button type="submit" kind="primary" isBusy={write.isBusy} isDisabled={!ADM.test(adm)}>
        {t('card.write.do')}
      </Button>
    </form>
  )
}

/** For a reader somewhere else. */
function ScriptOffer({ hash }: { readonly hash: string }) {
  const script = useAction(() => api.post('/v1/cards/script', { body: { imsi: hash } }))
  const run = async (): Promise<void> => {
    const answer = await script.run()
    if (answer?.ok === true) saveFile(answer.data.file, answer.data.script, 'text/plain')
  }
  return (
    <>
      <p class="fine">{t('card.write.script.what')}</p>
      {script.error === undefined ? null : <ErrorNotice error={script.error} />}
      <Button isBusy={script.isBusy} onClick={() => void run()}>
        {t('card.write.script')}
      </Button>
    </>
  )
}
