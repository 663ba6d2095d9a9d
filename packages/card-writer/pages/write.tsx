import {
  type AnswerOf,
  api,
  Button,
  Checkbox,
  Dialog,
  ErrorNotice,
  Field,
  FileField,
  Form,
  may,
  Notice,
  nameOf,
  type Sim,
  saveFile,
  Time,
  t,
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
      {isOpen ? (
        <WriteDialog
          first={{ hash: sim.imsi_sha256_12, name: nameOf(sim) }}
          batch={sim.batch_id}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}

interface Target {
  readonly hash: string
  readonly name: string
}

/** Writes the card of one SIM, and after it those of the others of its batch. */
export function WriteDialog({
  first,
  batch,
  onClose,
}: {
  readonly first: Target
  readonly batch: string | null
  readonly onClose: () => void
}) {
  const [target, setTarget] = useState(first)
  const [csv, setCsv] = useState<string>()
  const [isDone, setDone] = useState(false)
  return (
    <Dialog isOpen title={t('card.write.title', { name: target.name })} onClose={onClose}>
      {isDone ? (
        <div class="stack">
          <Notice tone="ok">{t('card.write.done')}</Notice>
          <div class="actions">
            {batch === null ? null : (
              <NextOfBatch
                batch={batch}
                onNext={(next) => {
                  setTarget(next)
                  setDone(false)
                }}
              />
            )}
            <Button onClick={onClose}>{t('ui.close')}</Button>
          </div>
        </div>
      ) : (
        <WriteCard
          key={target.hash}
          hash={target.hash}
          csv={csv}
          onCsv={setCsv}
          onDone={() => setDone(true)}
        />
      )}
    </Dialog>
  )
}

type Cards = AnswerOf<'GET', '/v1/cards'>['cards']

/** The first SIM that is on no card. */
export function firstUnwritten(cards: Cards): Target | undefined {
  return cards
    .filter(({ state, written_at }) => state !== 'revoked' && written_at === null)
    .map(({ imsi_sha256_12: hash, label }) => ({ hash, name: label ?? hash }))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))[0]
}

/** Offers the first SIM of a batch that is on no card. */
function NextOfBatch({ batch, onNext }: { readonly batch: string; readonly onNext: (next: Target) => void }) {
  const cards = useQuery('/v1/cards', { query: { batch_id: batch, limit: 500 } })
  const next = firstUnwritten(cards.data?.cards ?? [])
  if (next === undefined) return null
  return (
    <Button kind="primary" onClick={() => onNext(next)}>
      {t('card.write.next', { name: next.name })}
    </Button>
  )
}

/** What `WriteForm` keeps from card to card: the text of the vendor's file. */
interface Keys {
  readonly csv: string | undefined
  readonly onCsv: (text: string) => void
}

function WriteCard({ hash, onDone, ...keys }: Keys & { readonly hash: string; readonly onDone: () => void }) {
  const known = useQuery('/v1/cards', { query: { imsi: hash } })
  const written = known.data?.cards[0]
  const [seen, setSeen] = useState<Seen>()
  const read = useAction(
    () => {
      setSeen(undefined)
      return api.post('/v1/cards/read', { timeoutMs: TIMEOUT_MS })
    },
    { onDone: setSeen },
  )
  const isWritten = written !== undefined && written.written_at !== null
  return (
    <div class="stack">
      {isWritten ? (
        <Notice tone="warn">
          {t('card.write.done.before', { end: written.iccid_last4 ?? '' })} <Time at={written.written_at} />
        </Notice>
      ) : null}
      <p>
        {t('card.write.put')} <a href="/docs/how-to/write-cards.html">{t('card.write.docs')}</a>
      </p>
      <ErrorNotice error={read.error} />
      <div class="actions">
        <Button
          kind={seen === undefined ? 'primary' : 'quiet'}
          isBusy={read.isBusy}
          onClick={() => void read.run()}
        >
          {t('card.write.read')}
        </Button>
      </div>
      {seen === undefined ? null : (
        <WriteForm
          key={seen.iccid}
          hash={hash}
          seen={seen}
          isUsed={isWritten || (seen.imsi_sha256_12 !== null && seen.imsi_sha256_12 !== hash)}
          onDone={onDone}
          {...keys}
        />
      )}
      {may('sim:admin') ? <ScriptOffer hash={hash} /> : null}
    </div>
  )
}

function WriteForm({
  hash,
  seen,
  isUsed,
  csv,
  onCsv,
  onDone,
}: Keys & {
  readonly hash: string
  readonly seen: Seen
  /** Whether SIM or card may be in use already. */
  readonly isUsed: boolean
  readonly onDone: () => void
}) {
  const known = csv === undefined ? undefined : admIn(csv, seen.iccid)
  const [adm, setAdm] = useState(known ?? '')
  const [again, setAgain] = useState(false)
  const take = async (file: File | undefined): Promise<void> => {
    const text = await file?.text()
    if (text === undefined) return
    onCsv(text)
    setAdm(admIn(text, seen.iccid) ?? '')
  }
  const body = { imsi: hash, iccid: seen.iccid, adm, again }
  return (
    <Form
      submit={t('card.write.do')}
      kind="primary"
      isDisabled={!ADM.test(adm)}
      act={() => api.post('/v1/cards/write', { body, timeoutMs: TIMEOUT_MS })}
      onDone={onDone}
    >
      {({ isBusy }) => (
        <>
          <p>{t('card.write.seen', { model: seen.model, end: seen.iccid.slice(-4) })}</p>
          {seen.imsi_sha256_12 === null || seen.imsi_sha256_12 === hash ? null : (
            <p>{t('card.write.other', { hash: seen.imsi_sha256_12 })}</p>
          )}
          <Field text="card.write.adm" type="password" value={adm} onInput={(text) => setAdm(text.trim())} />
          <FileField
            text="card.write.csv"
            accept=".csv,.txt"
            isRequired={false}
            onChoose={(file) => void take(file)}
          />
          {csv !== undefined && known === undefined ? (
            <Notice tone="warn">{t('card.write.csv.missing')}</Notice>
          ) : null}
          {isUsed ? (
            <>
              <Checkbox label={t('card.write.again')} isChecked={again} onChange={setAgain} />
              <p class="fine">{t('card.write.again.help')}</p>
            </>
          ) : null}
          {isBusy ? <p role="status">{t('card.write.busy')}</p> : null}
        </>
      )}
    </Form>
  )
}

/** For a reader somewhere else. */
function ScriptOffer({ hash }: { readonly hash: string }) {
  const script = useAction(() => api.post('/v1/cards/script', { body: { imsi: hash } }), {
    onDone: ({ file, script: text }) => saveFile(file, text, 'text/plain'),
  })
  return (
    <>
      <p class="fine">{t('card.write.script.what')}</p>
      <ErrorNotice error={script.error} />
      <Button isBusy={script.isBusy} onClick={() => void script.run()}>
        {t('card.write.script')}
      </Button>
    </>
  )
}
