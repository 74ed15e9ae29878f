"""The papers that terms come from: authors and year as one cites them, and the title."""

from typing import NamedTuple


class Paper(NamedTuple):
    """A publication."""

    cited: str  # authors and year
    title: str


ABNAR = Paper("Abnar & Zuidema 2020", "Quantifying Attention Flow in Transformers")
AINSLIE = Paper("Ainslie et al. 2023", "GQA: Training Generalized Multi-Query Transformer Models")
BA = Paper("Ba et al. 2016", "Layer Normalization")
BELTAGY = Paper("Beltagy et al. 2020", "Longformer: The Long-Document Transformer")
CHAN = Paper("Chan et al. 2022", "Causal Scrubbing: A Method for Rigorously Testing Interpretability Hypotheses")
DEVLIN = Paper("Devlin et al. 2019", "BERT: Pre-training of Deep Bidirectional Transformers")
ELHAGE = Paper("Elhage et al. 2021", "A Mathematical Framework for Transformer Circuits")
ENDRES = Paper("Endres & Schindelin 2003", "A New Metric for Probability Distributions")
FAN = Paper("Fan et al. 2018", "Hierarchical Neural Story Generation")
GARG = Paper("Garg et al. 2019", "Jointly Learning to Align and Translate with Transformer Models")
GEHRING = Paper("Gehring et al. 2017", "Convolutional Sequence to Sequence Learning")
GEVA = Paper("Geva et al. 2023", "Dissecting Recall of Factual Associations in Auto-Regressive Language Models")
HEIMERSHEIM = Paper("Heimersheim & Nanda 2024", "How to Use and Interpret Activation Patching")
HOLTZMAN = Paper("Holtzman et al. 2020", "The Curious Case of Neural Text Degeneration")
JELINEK = Paper("Jelinek et al. 1977", "Perplexity: A Measure of the Difficulty of Speech Recognition Tasks")
KESKAR = Paper("Keskar et al. 2019", "CTRL: A Conditional Transformer Language Model for Controllable Generation")
KOBAYASHI = Paper("Kobayashi et al. 2020", "Attention is Not Only a Weight")
KORNBLITH = Paper("Kornblith et al. 2019", "Similarity of Neural Network Representations Revisited")
KUHN = Paper("Kuhn 1955", "The Hungarian Method for the Assignment Problem")
KULLBACK = Paper("Kullback & Leibler 1951", "On Information and Sufficiency")
LI = Paper("Li & Janson 2024", "Optimal Ablation for Interpretability")
LINDNER = Paper("Lindner et al. 2023", "Tracr: Compiled Transformers as a Laboratory for Interpretability")
LOSHCHILOV = Paper("Loshchilov & Hutter 2019", "Decoupled Weight Decay Regularization")
MICHEL = Paper("Michel et al. 2019", "Are Sixteen Heads Really Better than One?")
MICIKEVICIUS = Paper("Micikevicius et al. 2018", "Mixed Precision Training")
NANDA = Paper("Nanda 2023", "Attribution Patching: Activation Patching at Industrial Scale")
NGUYEN = Paper("Nguyen et al. 2024", "Turning Up the Heat: Min-p Sampling")
OCH = Paper("Och & Ney 2003", "A Systematic Comparison of Various Statistical Alignment Models")
OLSSON = Paper("Olsson et al. 2022", "In-context Learning and Induction Heads")
PASCANU = Paper("Pascanu et al. 2013", "On the Difficulty of Training Recurrent Neural Networks")
PRESS = Paper("Press et al. 2022", "Train Short, Test Long: Attention with Linear Biases")
PRESS_WOLF = Paper("Press & Wolf 2017", "Using the Output Embedding to Improve Language Models")
RADFORD = Paper("Radford et al. 2019", "Language Models are Unsupervised Multitask Learners")
RAFFEL = Paper("Raffel et al. 2020", "Exploring the Limits of Transfer Learning with a Text-to-Text Transformer")
SHANNON = Paper("Shannon 1948", "A Mathematical Theory of Communication")
SHAZEER = Paper("Shazeer 2020", "GLU Variants Improve Transformer")
SRIVASTAVA = Paper("Srivastava et al. 2014", "Dropout: A Simple Way to Prevent Neural Networks from Overfitting")
SU = Paper("Su et al. 2021", "RoFormer: Enhanced Transformer with Rotary Position Embedding")
SZEGEDY = Paper("Szegedy et al. 2016", "Rethinking the Inception Architecture for Computer Vision")
TORGERSON = Paper("Torgerson 1952", "Multidimensional Scaling: I. Theory and Method")
VASWANI = Paper("Vaswani et al. 2017", "Attention Is All You Need")
VIG = Paper("Vig et al. 2020", "Investigating Gender Bias in Language Models Using Causal Mediation Analysis")
VOITA = Paper("Voita et al. 2019", "Analyzing Multi-Head Self-Attention")
WANG = Paper(
    "Wang et al. 2023", "Interpretability in the Wild: A Circuit for Indirect Object Identification in GPT-2 Small"
)
WEISS = Paper("Weiss et al. 2021", "Thinking Like Transformers")
WILLIAMS = Paper("Williams & Zipser 1989", "A Learning Algorithm for Continually Running Recurrent Networks")
WITTEN = Paper("Witten & Bell 1991", "The Zero-Frequency Problem")
WU = Paper("Wu et al. 2016", "Google’s Neural Machine Translation System")
XIAO = Paper("Xiao et al. 2024", "Efficient Streaming Language Models with Attention Sinks")
XIONG = Paper("Xiong et al. 2020", "On Layer Normalization in the Transformer Architecture")
ZHANG = Paper("Zhang & Sennrich 2019", "Root Mean Square Layer Normalization")
ZHANG_DIAGONAL = Paper("Zhang et al. 2021", "On the Usefulness of Self-Attention for Automatic Speech Recognition")
