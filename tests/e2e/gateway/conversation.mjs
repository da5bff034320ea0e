// The vendor's Node library holds the conversations of `fixtures/scripts/gateway.jsonl`.
//
//   node conversation.mjs --url http://127.0.0.1:PORT --seen FILE --scenes talk,observed
//
// It is the client program of conversation.py, in JavaScript, and answers the calls of a message
// with one message. Run it from a directory whose node_modules contain @google/genai.

import assert from 'node:assert/strict';
import {appendFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {parseArgs} from 'node:util';
import {pathToFileURL} from 'node:url';

// Modules are resolved from the working directory, not from the directory of this file.
const require = createRequire(pathToFileURL(`${process.cwd()}/`));
const {GoogleGenAI, Modality} = require('@google/genai');

const MODEL = 'gemini-live-test';

// A model that waits for the response to each call, and takes one response alone.
const BLOCKING_MODEL = 'gemini-3.1-flash-live-preview';

const declaration = (name, properties) => ({
  name,
  description: `Does ${name}.`,
  parameters: {
    type: 'OBJECT',
    properties: Object.fromEntries(Object.entries(properties).map(([key, type]) => [key, {type}])),
  },
});

const CONFIG = {
  responseModalities: [Modality.TEXT],
  systemInstruction: 'Be brief.',
  tools: [
    {
      functionDeclarations: [
        declaration('look_up', {order: 'STRING'}),
        declaration('refund', {order: 'STRING', cents: 'INTEGER'}),
        declaration('wipe', {order: 'STRING'}),
        declaration('transfer', {cents: 'INTEGER'}),
      ],
    },
  ],
};

const TOOLS = {
  look_up: {status: 'shipped'},
  refund: {refunded: true},
  wipe: {wiped: true},
  transfer: {transferred: true},
};

// One connection of a scene, and what it received.
class Talk {
  answers = true;
  text = '';
  calls = 0;
  sound = [];
  handle = undefined;
  messages = [];
  wake = undefined;

  static async open(ai, scene, seen, {model = MODEL, ...config} = {}) {
    const talk = new Talk();
    Object.assign(talk, {scene, seen});
    talk.closed = new Promise((resolve) => {
      talk.ended = resolve;
    });
    talk.session = await ai.live.connect({
      model,
      config: {...CONFIG, ...config},
      callbacks: {
        onmessage: (message) => talk.hear({message}),
        onerror: () => {},
        onclose: ({code, reason}) => {
          talk.hear({closed: `${code} ${reason}`});
          talk.ended();
        },
      },
    });
    return talk;
  }

  hear(what) {
    this.messages.push(what);
    this.wake?.();
  }

  async next() {
    while (this.messages.length === 0) {
      await new Promise((resolve) => {
        this.wake = resolve;
      });
    }
    const heard = this.messages.shift();
    if (heard.closed !== undefined) throw new Error(`the connection was closed: ${heard.closed}`);
    this.take(heard.message);
    return heard.message;
  }

  // Appends a line to the witness, which survives this process.
  note(what, value) {
    appendFileSync(this.seen, `${JSON.stringify({scene: this.scene, [what]: value})}\n`);
  }

  say(text) {
    this.session.sendClientContent({turns: [{role: 'user', parts: [{text}]}]});
  }

  // Sends frames of sound, each with its number in every byte.
  soundOut(frames) {
    for (let number = 0; number < frames; number += 1) {
      const data = Buffer.alloc(640, number).toString('base64');
      this.session.sendRealtimeInput({audio: {data, mimeType: 'audio/pcm;rate=16000'}});
    }
  }

  // Receives until a turn of the model ends, the text of which has these words. The user reacts
  // once, to the first text and to this number of calls.
  async turn(until, onText, calls = 0) {
    let reaction = onText;
    let complete = false;
    while (!complete || !this.text.includes(until)) {
      const {serverContent} = await this.next();
      complete = serverContent?.turnComplete === true;
      if (reaction && this.text !== '' && this.calls >= calls) {
        reaction();
        reaction = undefined;
      }
    }
    this.note('heard', this.text);
    this.text = '';
  }

  take({toolCall, toolCallCancellation, sessionResumptionUpdate, serverContent}) {
    const calls = toolCall?.functionCalls ?? [];
    this.calls += calls.length;
    for (const {id, name, args} of calls) this.note('call', [id, name, args]);
    if (calls.length > 0 && this.answers) this.answer(calls);
    if (toolCallCancellation) this.note('cancelled', toolCallCancellation.ids);
    if (sessionResumptionUpdate?.newHandle) this.handle = sessionResumptionUpdate.newHandle;
    for (const part of serverContent?.modelTurn?.parts ?? []) {
      this.text += part.text ?? '';
      if (part.inlineData) this.sound.push(Buffer.from(part.inlineData.data, 'base64'));
    }
    if (serverContent?.interrupted) this.note('interrupted', true);
  }

  answer(calls) {
    for (const {id} of calls) this.note('answered', id);
    this.session.sendToolResponse({
      functionResponses: calls.map(({id, name}) => ({
        id,
        name,
        response: name in TOOLS ? {output: TOOLS[name]} : {error: 'unknown'},
      })),
    });
  }

  // Returns once the other side has closed, too.
  async close() {
    this.session.close();
    await this.closed;
  }
}

// One question of the user, and the turn of the model that answers it.
const asked = (said, heard) => async (open) => {
  const talk = await open();
  talk.say(said);
  await talk.turn(heard);
  await talk.close();
};

const SCENES = {
  observed: asked('Look up my order.', 'It was shipped.'),
  mixed: asked('Do everything.', 'Everything is settled.'),
  quiet: asked('Refund it quietly.', 'It was refunded.'),
  approved: asked('Refund my order.', 'It was refunded.'),
  denied: asked('Wipe it.', 'That is over.'),
  hosted: asked('What time is it?', 'I looked at the clock.'),

  // Text and sound in both directions.
  async talk(open) {
    const talk = await open();
    talk.say('Hello.');
    await talk.turn('I beg your pardon?');
    talk.say('Sing.');
    await talk.turn('La.');
    talk.soundOut(3);
    await talk.turn('I heard three frames.');
    assert.deepEqual(talk.sound.map((frame) => frame.readUInt32LE()), [0, 1, 2, 3, 4, 0, 1, 2]);
    await talk.close();
  },

  // A story, which the user interrupts.
  async interrupted(open) {
    const talk = await open();
    talk.say('Tell me a story.');
    await talk.turn('Once upon a time.', () => talk.say('Stop!'));
    await talk.close();
  },

  // Two calls, which the user cancels before they are answered.
  async cancelled(open) {
    const talk = await open();
    talk.answers = false;
    talk.say('Do it slowly.');
    await talk.turn('Just a moment.', () => talk.say('Never mind.'), 1);
    await talk.close();
  },

  // The session resumes on a second connection.
  async resumed(open) {
    const first = await open({sessionResumption: {}});
    first.say('Remember this.');
    await first.turn('Call me again.');
    assert.equal(first.handle, 'gateway-1');
    await first.close();
    const second = await open({sessionResumption: {handle: first.handle}});
    await second.turn('Welcome back.');
    await second.close();
  },

  // A call that waits longer than the model: it is acknowledged, and told as conversation.
  async inline(open) {
    const talk = await open({model: BLOCKING_MODEL});
    talk.say('Transfer it.');
    await talk.turn('I have asked.');
    talk.note('waiting', 'inline-1');
    await talk.turn('What you asked for before is decided.');
    await talk.close();
  },

  // A call that waits while the connection ends, and is delivered on the next one.
  async across(open) {
    const first = await open({sessionResumption: {}});
    first.say('Later, please.');
    await first.turn('I will.');
    await first.close();
    const second = await open({sessionResumption: {handle: first.handle}});
    await second.turn('Here we are again.');
    second.note('waiting', 'across-1');
    await second.turn('What you asked for before is decided.');
    await second.close();
  },
};

async function main() {
  const options = {url: {type: 'string'}, seen: {type: 'string'}, scenes: {type: 'string'}};
  const {values} = parseArgs({options});
  const ai = new GoogleGenAI({apiKey: 'test-key', httpOptions: {baseUrl: values.url}});
  for (const scene of values.scenes.split(',')) {
    try {
      const run = SCENES[scene] ?? asked(scene, 'It is done.');
      await run((config) => Talk.open(ai, scene, values.seen, config));
    } catch (problem) {
      throw new Error(`the scene ${scene}: ${problem.message}`, {cause: problem});
    }
  }
  console.log(`@google/genai: ${values.scenes}`);
}

main().then(
  () => process.exit(0),
  (problem) => {
    console.error(problem);
    process.exit(1);
  },
);
